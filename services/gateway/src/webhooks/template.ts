/** Values that a template can use. */
export interface TemplateVariables {
  payload: unknown;
  /** By lower-case name. */
  headers: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  /** The path after the base path. */
  path: string;
  /** ISO 8601. */
  now: string;
}

/** Renders at most `limit` characters. Missing values are empty. Never throws. */
export type Template = (variables: TemplateVariables, limit: number) => string;

/** Path segments of one expression. */
const EXPRESSION = /\{\{([^{}]{1,256})\}\}/g;
const MAX_STEPS = 32;

type Part = string | ((variables: TemplateVariables) => unknown);

/** Compiles a text with `{{expressions}}`. Inserted values are not evaluated again. */
export function compileTemplate(text: string): Template {
  const parts: Part[] = text.split(EXPRESSION).map((part, index) => (index % 2 === 0 ? part : compileExpression(part.trim())));
  return (variables, limit) => {
    let rendered = '';
    for (const part of parts) {
      rendered += typeof part === 'string' ? part : toText(part(variables));
      if (rendered.length >= limit) break;
    }
    return rendered.slice(0, limit).toWellFormed();
  };
}

function compileExpression(expression: string): Exclude<Part, string> {
  if (expression === 'path') return ({ path }) => path;
  if (expression === 'now') return ({ now }) => now;
  const [, prefix, rest = ''] = /^(payload|headers|query)\.(.*)$/.exec(expression) ?? [];
  if (prefix === 'headers') return ({ headers }) => readOwn(headers, rest.toLowerCase());
  if (prefix === 'query') return ({ query }) => takeFirst(readOwn(query, rest));
  const steps = parseSteps(prefix === undefined ? expression : rest);
  return ({ payload }) => (steps === undefined ? undefined : resolvePath(payload, steps));
}

/** Parses `items[0].name` into `items`, 0, `name`; undefined for an invalid path. */
function parseSteps(path: string): (string | number)[] | undefined {
  const steps: (string | number)[] = [];
  for (const segment of path.split('.')) {
    const [, name = '', indexes = ''] = /^([^[\]]*)((?:\[\d{1,9}\])*)$/.exec(segment) ?? [];
    if (name === '' && indexes === '') return undefined;
    if (name !== '') steps.push(name);
    steps.push(...[...indexes.matchAll(/\d+/g)].map(Number));
  }
  return steps.length > MAX_STEPS ? undefined : steps;
}

function resolvePath(root: unknown, steps: readonly (string | number)[]): unknown {
  let value = root;
  for (const step of steps) {
    if (typeof step === 'number') value = Array.isArray(value) ? value[step] : undefined;
    else value = Array.isArray(value) ? undefined : readOwn(value, step);
  }
  return value;
}

/** Reads own properties only, so that no inherited property is rendered. */
function readOwn(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null && Object.hasOwn(object, name)
    ? (object as Record<string, unknown>)[name]
    : undefined;
}

function takeFirst(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value);
  } catch {
    return ''; // nested too deeply to be serialized
  }
}

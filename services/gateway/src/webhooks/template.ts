/** Values that a template can use. */
export interface TemplateGiven {
  payload: unknown;
  /** By lower-case name. */
  headers: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  /** The path after the base path. */
  path: string;
  /** ISO 8601. */
  now: string;
}

/** Gives a text of at most so many characters. Never throws: what cannot be found is empty. */
export type Template = (given: TemplateGiven, limit: number) => string;

/** An expression has at most so many characters, and so many steps into the payload. */
const EXPRESSION = /\{\{([^{}]{1,256})\}\}/g;
const MOST_STEPS = 32;

type Part = string | ((given: TemplateGiven) => unknown);

/** Compiles a text with `{{expressions}}`. Inserted values are not evaluated again. */
export function compileTemplate(text: string): Template {
  const parts: Part[] = text.split(EXPRESSION).map((part, at) => (at % 2 === 0 ? part : compileExpression(part.trim())));
  return (given, limit) => {
    let rendered = '';
    for (const part of parts) {
      rendered += typeof part === 'string' ? part : textOf(part(given));
      if (rendered.length >= limit) break;
    }
    return rendered.slice(0, limit).toWellFormed();
  };
}

function compileExpression(expression: string): Exclude<Part, string> {
  if (expression === 'path') return ({ path }) => path;
  if (expression === 'now') return ({ now }) => now;
  const [, prefix, rest = ''] = /^(payload|headers|query)\.(.*)$/.exec(expression) ?? [];
  if (prefix === 'headers') return ({ headers }) => own(headers, rest.toLowerCase());
  if (prefix === 'query') return ({ query }) => first(own(query, rest));
  const steps = stepsOf(prefix === undefined ? expression : rest);
  return ({ payload }) => (steps === undefined ? undefined : follow(payload, steps));
}

/** Parses `items[0].name` into `items`, 0, `name`; undefined for an invalid path. */
function stepsOf(path: string): (string | number)[] | undefined {
  const steps: (string | number)[] = [];
  for (const segment of path.split('.')) {
    const [, name = '', indexes = ''] = /^([^[\]]*)((?:\[\d{1,9}\])*)$/.exec(segment) ?? [];
    if (name === '' && indexes === '') return undefined;
    if (name !== '') steps.push(name);
    steps.push(...[...indexes.matchAll(/\d+/g)].map(Number));
  }
  return steps.length > MOST_STEPS ? undefined : steps;
}

function follow(from: unknown, steps: readonly (string | number)[]): unknown {
  let at = from;
  for (const step of steps) {
    if (typeof step === 'number') at = Array.isArray(at) ? at[step] : undefined;
    else at = Array.isArray(at) ? undefined : own(at, step);
  }
  return at;
}

/** Reads own properties only, so that no inherited property is rendered. */
function own(from: unknown, name: string): unknown {
  return typeof from === 'object' && from !== null && Object.hasOwn(from, name) ? (from as Record<string, unknown>)[name] : undefined;
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value);
  } catch {
    return ''; // nested so deeply that it cannot be written
  }
}

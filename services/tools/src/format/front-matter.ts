import { isAlias, isMap, isScalar, parseDocument, visit, type Document, type YAMLMap } from 'yaml';
import { isMapping, type Refuse } from './head-fields.ts';

/** The YAML fields at the begin of a Markdown file, and the text below them. */
export interface FrontMatter {
  fields: Record<string, unknown>;
  body: string;
}

const MAX_FRONT_MATTER_CHARS = 65_536;
const LINE = '---';
/** Fields whose unquoted value is a text, although YAML reads `1.0` as a number. */
const TEXT_FIELDS: ReadonlySet<string> = new Set(['name', 'description', 'version', 'license', 'argumentHint', 'argument-hint']);
/** A hint such as `[file]`, which YAML reads as a list. */
const HINT_FIELDS: ReadonlySet<string> = new Set(['argumentHint', 'argument-hint']);

/** Reads the front matter of a Markdown file. A byte order mark and line ends of either kind are accepted. */
export function readFrontMatter(content: string, refuse: Refuse): FrontMatter {
  const { yaml, body } = split(content, refuse);
  try {
    return { fields: parseFields(yaml, refuse), body: body.trim() };
  } catch (error) {
    if (error instanceof RangeError) throw tooNested(refuse);
    throw error;
  }
}

/** The YAML library is recursive, so that deep nesting exceeds the call stack. */
function tooNested(refuse: Refuse): Error {
  return refuse('a front matter with less nesting', 'too many levels');
}

function split(content: string, refuse: Refuse): { yaml: string; body: string } {
  const text = content.startsWith('\ufeff') ? content.slice(1) : content;
  const first = readLine(text, 0);
  if (first.line !== LINE) throw refuse('YAML front matter between two lines `---`, with name and description', 'none');
  for (let at = first.next; at < text.length && at - first.next <= MAX_FRONT_MATTER_CHARS;) {
    const { line, next } = readLine(text, at);
    if (line === LINE && at - first.next <= MAX_FRONT_MATTER_CHARS) return { yaml: text.slice(first.next, at), body: text.slice(next) };
    at = next;
  }
  if (text.length - first.next <= MAX_FRONT_MATTER_CHARS) throw refuse('a line `---` that ends the front matter', 'none');
  throw refuse(`a front matter of at most ${MAX_FRONT_MATTER_CHARS} characters, ended by a line \`---\``, 'a longer one');
}

function readLine(text: string, at: number): { line: string; next: number } {
  const end = text.indexOf('\n', at);
  return { line: text.slice(at, end === -1 ? undefined : end).trimEnd(), next: end === -1 ? text.length : end + 1 };
}

function parseFields(yaml: string, refuse: Refuse): Record<string, unknown> {
  // The library compares each key with all others, which takes quadratic time. `checkNodes` finds duplicate keys.
  const document = parseDocument(yaml, { schema: 'core', uniqueKeys: false, prettyErrors: false, logLevel: 'silent' });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) {
    if (problem.message.includes('call stack')) throw tooNested(refuse);
    const line = countLines(yaml, problem.pos[0]) + 1;
    throw refuse('valid YAML in the front matter (texts with `: ` or `#` need quotes)', `line ${line}: ${shorten(problem.message)}`);
  }
  checkNodes(document, refuse);
  const { contents } = document;
  if (!isMap(contents)) throw refuse('a front matter with fields such as `name: value`', contents === null ? 'none' : 'another value');
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  return { ...(isMapping(value) ? value : {}), ...readTexts(contents, yaml) };
}

/** Refuses aliases, which can multiply a small text, and duplicate keys. */
function checkNodes(document: Document, refuse: Refuse): void {
  visit(document, {
    Node(_, node) {
      if (isAlias(node)) throw refuse('a front matter without aliases', `*${shorten(node.source)}`);
    },
    Map(_, { items }) {
      const keys = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) throw refuse('front matter fields that are named by a text', 'another key');
        const name = String(key.value);
        if (keys.has(name)) throw refuse('each front matter field once', `${shorten(name)} twice`);
        keys.add(name);
      }
    },
  });
}

function readTexts({ items }: YAMLMap, yaml: string): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const { key, value } of items) {
    const name = isScalar(key) ? String(key.value) : '';
    if (!TEXT_FIELDS.has(name)) continue;
    if (isScalar(value)) {
      if (value.value !== null && value.source !== undefined) texts[name] = value.source;
    } else if (HINT_FIELDS.has(name) && isSourceNode(value)) texts[name] = yaml.slice(value.range[0], value.range[1]).trim();
  }
  return texts;
}

function isSourceNode(value: unknown): value is { range: [number, number, number] } {
  return isMapping(value) && Array.isArray(value['range']);
}

function countLines(text: string, end: number): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

const MAX_SHOWN_CHARS = 200;

function shorten(text: string): string {
  const [line = ''] = text.split('\n', 1);
  return line.length > MAX_SHOWN_CHARS ? `${line.slice(0, MAX_SHOWN_CHARS)}…` : line;
}

import { createRequire } from 'node:module';
import { styleText } from 'node:util';
import stringWidth from 'string-width';
import type * as Yaml from 'yaml';
import type { Failure } from './failure.ts';

/** Output formats: `table` for people, the others for programs. */
export const OUTPUTS = ['table', 'json', 'yaml', 'ndjson'] as const;
export type Output = (typeof OUTPUTS)[number];
type Paint = Parameters<typeof styleText>[0];
type Terminal = Pick<NodeJS.WriteStream, 'isTTY'>;

/** Styles text on terminals, unless `NO_COLOR` is set. */
export function paint(style: Paint, text: string, stream: Terminal, env: NodeJS.ProcessEnv = process.env): string {
  const coloured = stream.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  return coloured ? styleText(style, text, { validateStream: false }) : text;
}

/** Replaces control characters on terminals, so that foreign text cannot control the terminal. Files get the text unchanged. */
export function printable(text: string, stream: Terminal): string {
  // eslint-disable-next-line no-control-regex -- they are what this is about
  return stream.isTTY ? text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd') : text;
}

export function print(text: string): void {
  process.stdout.write(printable(text, process.stdout));
}

export function printJson(value: unknown): void {
  print(`${JSON.stringify(value, null, 2)}\n`);
}

/** Prints a result in a machine-readable format. `ndjson` prints one line per entry of the result, or of its only list. */
export function printAs(form: Exclude<Output, 'table'>, value: unknown): void {
  if (form === 'json') return printJson(value);
  if (form === 'yaml') return print(yaml().stringify(value, { lineWidth: 0 }));
  for (const entry of getEntries(value)) print(`${JSON.stringify(entry)}\n`);
}

/** Loads the YAML library on first use, because loading it delays every command. */
function yaml(): typeof Yaml {
  return createRequire(import.meta.url)('yaml') as typeof Yaml;
}

function getEntries(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  const lists = typeof value === 'object' && value !== null ? Object.values(value).filter((one) => Array.isArray(one)) : [];
  const [list] = lists;
  return list !== undefined && lists.length === 1 ? list : [value];
}

/** Prints a note to standard error. */
export function remark(text: string): void {
  process.stderr.write(`${paint('dim', printable(text, process.stderr), process.stderr)}\n`);
}

/** Renders labels in one column and texts in the next. */
export function rows(lines: readonly (readonly [label: string, text: string])[]): string {
  const width = Math.max(0, ...lines.map(([label]) => label.length));
  return lines.map(([label, text]) => `${label.padEnd(width)}  ${text}\n`).join('');
}

/** Renders cells in aligned columns. The last column is not padded. */
export function columns(lines: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const line of lines) for (const [at, cell] of line.entries()) widths[at] = Math.max(widths[at] ?? 0, stringWidth(cell));
  const padded = lines.map((line) => line.map((cell, at) => (at === line.length - 1 ? cell : padTo(widths[at] ?? 0, cell))).join('  '));
  return padded.map((line) => `${line.trimEnd()}\n`).join('');
}

function padTo(width: number, cell: string): string {
  return cell + ' '.repeat(Math.max(0, width - stringWidth(cell)));
}

/**
 * Renders a table. On terminals it has a heading, and lines are truncated to the terminal width. Pipes and files get complete lines
 * without a heading.
 */
export function table(head: readonly string[], lines: readonly (readonly string[])[], screen: Screen = process.stdout): string {
  const flat = lines.map((line) => line.map(oneLine));
  if (!screen.isTTY) return columns(flat);
  const [heading = '', ...rest] = columns([head, ...flat])
    .trimEnd()
    .split('\n')
    .map((line) => fitted(line, screen));
  return [paint('dim', heading, screen), ...rest].map((line) => `${line}\n`).join('');
}

/** Truncates a line to the terminal width, which is 0 if it is unknown. Pipes and files get the complete line. */
export function fitted(line: string, screen: Screen = process.stdout): string {
  return screen.isTTY ? cut(line, screen.columns || Infinity) : line;
}

type Screen = Terminal & { columns?: number | undefined };

export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** Truncates a text to a display width. Wide characters count as two columns. */
function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let [kept, room] = ['', width - 1];
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    room -= stringWidth(segment);
    if (room < 0) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Prints a failure: the sentence, the details and the next command. */
export function printFailure(failure: Failure, output: Output): void {
  const { message, next, detail } = failure;
  if (output !== 'table') {
    process.stderr.write(`${JSON.stringify({ error: { message, ...detail, next } })}\n`);
    return;
  }
  const facts = [detail.code, detail.reason, detail.requestId && `request ${detail.requestId}`, detail.turnId && `turn ${detail.turnId}`];
  const lines = [
    `${paint('red', 'error:', process.stderr)} ${printable(message, process.stderr)}`,
    ...[facts.filter(Boolean).join(' · ')].filter(Boolean),
    ...(detail.issues ?? []).map(({ path, message: description }) =>
      description.startsWith(path) ? description : `${path}: ${description}`,
    ),
    `next: ${next}`,
  ];
  process.stderr.write(`${lines.map((line, at) => (at === 0 ? line : `  ${printable(line, process.stderr)}`)).join('\n')}\n`);
}

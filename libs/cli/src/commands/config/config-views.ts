import type { CallResult } from '@switchyard/client';
import { wrongUsage } from '../../output/failure.ts';
import { numberOf } from '../../arguments/flags.ts';
import type { Given } from '../../arguments/command-group.ts';
import { columns, paint, print, printable, printAs, printJson, remark, table } from '../../output/output.ts';
import { isObject } from '../../output/json-values.ts';
import { self } from '../../server/installation.ts';
import { leavesOf, shown } from '../../output/settings-table.ts';
import { second } from '../../output/times.ts';

/** Length of an abbreviated version id. */
export const SHORT = 12;

type Origin = { layer: string; from?: string };

/** Prints a single key as its value, for scripts, and several keys as a table. */
export async function showValue({ call, flags, output }: Given, path?: string): Promise<void> {
  const [section, ...keys] = path?.split('.') ?? [];
  const config = flags['raw'] === undefined ? await read(call, section, false) : await readRaw(call, section);
  const value = section === undefined ? config.config : valueAt(config.config, [section, ...keys]);
  if (value === undefined)
    throw wrongUsage(`There is no key ${path}.`, `${self()} config get ${isObject(config.config[section ?? '']) ? section : ''}`.trimEnd());
  if (output !== 'table') printAs(output, value);
  else if (isObject(value)) print(columns([...leavesOf(value, path)].map(([key, leaf]) => [key, shown(leaf)])));
  else print(`${typeof value === 'string' ? value : JSON.stringify(value)}\n`);
}

export async function showOrigins({ call, output }: Given, section?: string): Promise<void> {
  const { config, origins = {} } = await read(call, section, true);
  if (output !== 'table') printAs(output, { config, origins });
  else print(columns([...leavesOf(config)].map(([key, leaf]) => [key, shown(leaf), placeOf(origins[key])])));
}

export async function showSchema({ call }: Given, section?: string): Promise<void> {
  printJson((await call('config.schema', section === undefined ? {} : { section })).schema);
}

export async function showHistory({ call, flags, output }: Given): Promise<void> {
  const answer = await call('config.history', numberOf(flags, 'limit', 'limit'));
  if (output !== 'table') return printAs(output, answer);
  const lines = answer.entries.map(({ sha, date, author = '', message }) => [
    sha.slice(0, SHORT),
    second(date).replace('T', ' '),
    author,
    message,
  ]);
  print(table(['VERSION', 'WRITTEN', 'BY', 'WHY'], lines));
  for (const line of lagging(answer.inForce)) remark(line);
}

export async function showDiff({ call, output }: Given, sha?: string): Promise<void> {
  const answer = await call('config.diff', sha === undefined ? {} : { sha });
  if (output !== 'table') return printAs(output, answer);
  if (answer.diff === '') return remark('Nothing differs.');
  printDiff(answer.diff);
}

/** Prints a diff with removed lines in red and added lines in green. */
export function printDiff(diff: string): void {
  for (const line of diff.trimEnd().split('\n')) process.stdout.write(`${coloured(printable(line, process.stdout))}\n`);
}

interface Read {
  config: Record<string, unknown>;
  origins?: Record<string, Origin>;
}

/** Reads a section. Root keys are not sections and are read from the complete configuration. */
async function read(call: Given['call'], section: string | undefined, origins: boolean): Promise<Read> {
  const root = section === undefined || ROOT_KEYS.has(section);
  const answer = (await call('config.read', { ...(root ? {} : { section }), origins })) as unknown as Read;
  if (root && section !== undefined) return { ...answer, config: { [section]: answer.config[section] } };
  return root || origins ? answer : { config: { [section]: answer } };
}

/** Reads a section with its secrets. The complete configuration is only available without secrets. */
async function readRaw(call: Given['call'], section: string | undefined): Promise<Read> {
  if (section === undefined || ROOT_KEYS.has(section)) throw wrongUsage('--raw takes a section.', `${self()} config get providers --raw`);
  return { config: { [section]: await call('config.get', { section }) } };
}

export const ROOT_KEYS: ReadonlySet<string> = new Set(['tenantId', 'logLevel', 'dataDir', 'agentDir']);

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
}

function placeOf(origin: Origin | undefined): string {
  return origin === undefined ? '' : (origin.from ?? origin.layer);
}

function lagging(inForce: CallResult<'config.history'>['inForce']): string[] {
  return (inForce?.lagging ?? []).map(({ replica, refused }) =>
    refused === undefined ? `${replica} does not run the newest version yet.` : `${replica} refuses the newest version: ${refused}`,
  );
}

function coloured(line: string): string {
  if (line.startsWith('+++') || line.startsWith('---')) return paint('bold', line, process.stdout);
  if (line.startsWith('@@')) return paint('cyan', line, process.stdout);
  return line.startsWith('+') ? paint('green', line, process.stdout) : line.startsWith('-') ? paint('red', line, process.stdout) : line;
}

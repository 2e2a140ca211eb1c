import type { CallResult } from '@switchyard/client';
import { wrongUsage } from '../../output/failure.ts';
import { getNumber } from '../../arguments/flags.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { columns, paint, print, printable, printAs, printJson, remark, table } from '../../output/output.ts';
import { isObject } from '../../output/json-values.ts';
import { self } from '../../server/installation.ts';
import { getLeaves, formatSetting } from '../../output/settings-table.ts';
import { second } from '../../output/times.ts';

/** Length of an abbreviated version id. */
export const SHORT = 12;

type Origin = { layer: string; from?: string };

/** Prints a single key as its value, for scripts, and several keys as a table. */
export async function showValue({ call, flags, output }: CommandContext, path?: string): Promise<void> {
  const [section, ...keys] = path?.split('.') ?? [];
  const config = flags['raw'] === undefined ? await read(call, section, false) : await readRaw(call, section);
  const value = section === undefined ? config.config : valueAt(config.config, [section, ...keys]);
  if (value === undefined)
    throw wrongUsage(`Unknown key ${path}.`, `${self()} config get ${isObject(config.config[section ?? '']) ? section : ''}`.trimEnd());
  if (output !== 'table') printAs(output, value);
  else if (isObject(value)) print(columns([...getLeaves(value, path)].map(([key, leaf]) => [key, formatSetting(leaf)])));
  else print(`${typeof value === 'string' ? value : JSON.stringify(value)}\n`);
}

export async function showOrigins({ call, output }: CommandContext, section?: string): Promise<void> {
  const { config, origins = {} } = await read(call, section, true);
  if (output !== 'table') printAs(output, { config, origins });
  else print(columns([...getLeaves(config)].map(([key, leaf]) => [key, formatSetting(leaf), getPlace(origins[key])])));
}

export async function showSchema({ call }: CommandContext, section?: string): Promise<void> {
  printJson((await call('config.schema', section === undefined ? {} : { section })).schema);
}

export async function showHistory({ call, flags, output }: CommandContext): Promise<void> {
  const answer = await call('config.history', getNumber(flags, 'limit', 'limit'));
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

export async function showDiff({ call, output }: CommandContext, sha?: string): Promise<void> {
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
async function read(call: CommandContext['call'], section: string | undefined, origins: boolean): Promise<Read> {
  const root = section === undefined || ROOT_KEYS.has(section);
  const answer = (await call('config.read', { ...(root ? {} : { section }), origins })) as unknown as Read;
  if (root && section !== undefined) return { ...answer, config: { [section]: answer.config[section] } };
  return root || origins ? answer : { config: { [section]: answer } };
}

/** Reads a section with its secrets. The complete configuration is only available without secrets. */
async function readRaw(call: CommandContext['call'], section: string | undefined): Promise<Read> {
  if (section === undefined || ROOT_KEYS.has(section))
    throw wrongUsage('--raw requires a section.', `${self()} config get providers --raw`);
  return { config: { [section]: await call('config.get', { section }) } };
}

export const ROOT_KEYS: ReadonlySet<string> = new Set(['tenantId', 'logLevel', 'dataDir', 'agentDir']);

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
}

function getPlace(origin: Origin | undefined): string {
  return origin === undefined ? '' : (origin.from ?? origin.layer);
}

function lagging(inForce: CallResult<'config.history'>['inForce']): string[] {
  return (inForce?.lagging ?? []).map(({ replica, refused }) =>
    refused === undefined ? `${replica} has not applied the newest version yet.` : `${replica} rejected the newest version: ${refused}`,
  );
}

function coloured(line: string): string {
  if (line.startsWith('+++') || line.startsWith('---')) return paint('bold', line, process.stdout);
  if (line.startsWith('@@')) return paint('cyan', line, process.stdout);
  return line.startsWith('+') ? paint('green', line, process.stdout) : line.startsWith('-') ? paint('red', line, process.stdout) : line;
}

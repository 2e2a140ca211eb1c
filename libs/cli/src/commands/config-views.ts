import type { CallResult } from '@switchyard/client';
import { wrongUsage } from '../failure.ts';
import { columns, paint, print, printJson, remark } from '../output.ts';
import { isObject } from '../run-file.ts';
import { self } from '../self.ts';
import type { Verb } from './config-verb.ts';

const SHORT = 12;

type Origin = { layer: string; from?: string };

/** One key alone is its value, so that scripts can read it; more than one are a table. */
export const showValue: Verb = async (client, [path], { output }) => {
  const [section, ...keys] = path?.split('.') ?? [];
  const config = await read(client, section, false);
  const value = section === undefined ? config.config : valueAt(config.config, [section, ...keys]);
  if (value === undefined)
    throw wrongUsage(`There is no key ${path}.`, `${self()} config get ${isObject(config.config[section ?? '']) ? section : ''}`.trimEnd());
  if (output === 'json') printJson(value);
  else if (isObject(value)) print(columns([...leavesOf(value, path)].map(([key, leaf]) => [key, shown(leaf)])));
  else print(`${typeof value === 'string' ? value : JSON.stringify(value)}\n`);
};

export const showOrigins: Verb = async (client, [section], { output }) => {
  const { config, origins = {} } = await read(client, section, true);
  if (output === 'json') printJson({ config, origins });
  else print(columns([...leavesOf(config)].map(([key, leaf]) => [key, shown(leaf), placeOf(origins[key])])));
};

export const showHistory: Verb = async (client, _words, { flags, output }) => {
  const limit = Number(flags['limit'] ?? 10);
  if (!Number.isInteger(limit) || limit < 1)
    throw wrongUsage('--limit is a whole number above zero.', `${self()} config history --limit 20`);
  const answer = await client.call('config.history', { limit });
  if (output === 'json') return printJson(answer);
  const lines = answer.entries.map(({ sha, date, author = '', message }) => [
    sha.slice(0, SHORT),
    date.slice(0, 19).replace('T', ' '),
    author,
    message,
  ]);
  print(columns(lines));
  for (const line of lagging(answer.inForce)) remark(line);
};

export const showDiff: Verb = async (client, [sha], { output }) => {
  const answer = await client.call('config.diff', sha === undefined ? {} : { sha });
  if (output === 'json') return printJson(answer);
  if (answer.diff === '') return remark('Nothing differs.');
  for (const line of answer.diff.trimEnd().split('\n')) process.stdout.write(`${coloured(line)}\n`);
};

interface Read {
  config: Record<string, unknown>;
  origins?: Record<string, Origin>;
}

/** A key at the root is no section to the server, and stands in the whole. */
async function read(client: Parameters<Verb>[0], section: string | undefined, origins: boolean): Promise<Read> {
  const root = section === undefined || ROOT_KEYS.has(section);
  const answer = (await client.call('config.read', { ...(root ? {} : { section }), origins })) as unknown as Read;
  if (root && section !== undefined) return { ...answer, config: { [section]: answer.config[section] } };
  return root || origins ? answer : { config: { [section]: answer } };
}

export const ROOT_KEYS: ReadonlySet<string> = new Set(['tenantId', 'logLevel', 'dataDir', 'agentDir']);

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
}

function* leavesOf(value: Record<string, unknown>, above?: string): Generator<[path: string, value: unknown], void, void> {
  for (const [key, inner] of Object.entries(value)) {
    const path = above === undefined ? key : `${above}.${key}`;
    if (isObject(inner) && Object.keys(inner).length > 0) yield* leavesOf(inner, path);
    else yield [path, inner];
  }
}

function shown(value: unknown): string {
  return value === '' ? '""' : typeof value === 'string' ? value.replaceAll('\n', '\\n') : JSON.stringify(value);
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

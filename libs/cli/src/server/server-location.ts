import { existsSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Client } from '@switchyard/client';
import { DATA_DIRECTORY_FILE, type RunFile } from '@switchyard/contracts';
import { Failure, wrongUsage } from '../output/failure.ts';
import { readRunFile } from './run-file.ts';
import { quote, ROOT, self, serverProgram } from './installation.ts';

const DEFAULT_URL = 'http://127.0.0.1:4766';
const DEFAULT_DATA = '.switchyard';

/** The server address and the token. */
export interface Where {
  url: string;
  /** The source of the address. */
  urlFrom: '--url' | 'SWITCHYARD_URL' | 'run.json' | 'default';
  /** Whether the address is on this machine. */
  local: boolean;
  data: string;
  token: string | undefined;
  tokenFrom: TokenSource | undefined;
  /** The source of a token that is not sent to this server. */
  withheld?: TokenSource;
  /** The run file of the data directory, if it names the same server as the url. */
  run: RunFile | undefined;
}

type TokenSource = '--token' | 'SWITCHYARD_TOKEN' | 'SWITCHYARD_TOKEN_FILE' | 'saved';
type Flags = Readonly<Record<string, string>>;
type Variables = Readonly<Record<string, string | undefined>>;

/** Locates the server. Flags take precedence over variables, and variables over the data directory. Empty variables are ignored. */
export function locate(flags: Flags, env: Variables = process.env): Where {
  const data = findData(flags, env);
  const found = readRunFile(data);
  const { url, urlFrom } = findUrl(flags, env, found);
  const run = found && sameServer(found.url, url) ? found : undefined;
  const place = { url, urlFrom, local: isLocal(url), data, run };
  return { ...place, ...findToken(place, flags, env) };
}

/** Returns the data directory: flag, variable, or the directory noted by the last start. */
function findData(flags: Flags, env: Variables): string {
  const configured = flags['data'] ?? (env['SWITCHYARD_DATA'] || undefined);
  if (configured !== undefined) return configured;
  const usual = usualData();
  return readLine(join(usual, DATA_DIRECTORY_FILE)) ?? usual;
}

/** Returns the default data directory, as a relative path if possible. */
function usualData(): string {
  if (existsSync(DEFAULT_DATA) || !serverProgram()) return DEFAULT_DATA;
  const ofCheckout = join(ROOT, DEFAULT_DATA);
  if (!existsSync(ofCheckout)) return DEFAULT_DATA;
  const near = relative(process.cwd(), ofCheckout);
  return near.startsWith('..') ? ofCheckout : near;
}

function findUrl(flags: Flags, env: Variables, run: RunFile | undefined): Pick<Where, 'url' | 'urlFrom'> {
  if (flags['url'] !== undefined) return { url: checkUrl(flags['url'], '--url'), urlFrom: '--url' };
  const variable = env['SWITCHYARD_URL'];
  if (variable) return { url: checkUrl(variable, 'SWITCHYARD_URL'), urlFrom: 'SWITCHYARD_URL' };
  return run ? { url: run.url, urlFrom: 'run.json' } : { url: DEFAULT_URL, urlFrom: 'default' };
}

/** Validates an address. The message does not repeat the value, which could be a token in the wrong flag. */
function checkUrl(text: string, from: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return text;
  throw wrongUsage(
    `${from} must be an address such as ${DEFAULT_URL}, without user name and password.`,
    from === 'SWITCHYARD_URL' ? 'unset SWITCHYARD_URL' : `${self()} help`,
  );
}

function isLocal(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(new URL(url).hostname);
}

/** Returns whether two addresses name the same server. Loopback names are equivalent, except IPv6, where another process may listen. */
function sameServer(one: string, other: string): boolean {
  const [a, b] = [new URL(one), new URL(other)];
  if (a.origin === b.origin) return true;
  return [a, b].every((url) => isLocal(url.href) && !url.hostname.startsWith('[')) && a.port === b.port && a.protocol === b.protocol;
}

type Place = Pick<Where, 'url' | 'urlFrom' | 'data' | 'run'>;
type FoundToken = Pick<Where, 'token' | 'tokenFrom' | 'withheld'>;

/**
 * Selects the token. A token from a flag or variable is never sent to an address from a run file, and a saved token only to the server
 * that saved it.
 */
function findToken({ urlFrom, data, run }: Place, flags: Flags, env: Variables): FoundToken {
  const saved = savedToken(data);
  const options = findGivenToken(flags, env);
  if (options) {
    const isTrusted = urlFrom !== 'run.json' || options.token === saved;
    return isTrusted ? options : { token: undefined, tokenFrom: undefined, withheld: options.tokenFrom };
  }
  if (saved === undefined) return { token: undefined, tokenFrom: undefined };
  return run ? { token: saved, tokenFrom: 'saved' } : { token: undefined, tokenFrom: undefined, withheld: 'saved' };
}

function findGivenToken(flags: Flags, env: Variables): { token: string; tokenFrom: TokenSource } | undefined {
  if (flags['token'] !== undefined) return { token: flags['token'], tokenFrom: '--token' };
  const variable = env['SWITCHYARD_TOKEN'] || undefined;
  const file = env['SWITCHYARD_TOKEN_FILE'] || undefined;
  if (variable !== undefined && file !== undefined) {
    throw wrongUsage('SWITCHYARD_TOKEN and SWITCHYARD_TOKEN_FILE are both set. Unset one of them.', 'unset SWITCHYARD_TOKEN');
  }
  if (variable !== undefined) return { token: variable, tokenFrom: 'SWITCHYARD_TOKEN' };
  if (file === undefined) return undefined;
  const token = readToken(file);
  if (token !== undefined) return { token, tokenFrom: 'SWITCHYARD_TOKEN_FILE' };
  throw new Failure(`SWITCHYARD_TOKEN_FILE names ${file}, which is missing or empty.`, 'unset SWITCHYARD_TOKEN_FILE');
}

/** Reads the token that a server saved in its data directory. */
export function savedToken(data: string): string | undefined {
  return readToken(join(data, 'token'));
}

function readLine(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

function readToken(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    const path = quote(resolve(file));
    throw new Failure(
      `The token in ${resolve(file)} cannot be read (${code}).`,
      code === 'EACCES' ? `chmod 600 ${path}` : `ls -ld ${path}`,
      {
        cause,
      },
    );
  }
}

/** Creates a client of the server. Throws if there is no token. */
export async function connect(location: Where): Promise<Client> {
  if (location.token === undefined) throw createNoTokenFailure(location);
  const { createClient } = await import('@switchyard/client');
  return createClient({ url: location.url, token: location.token });
}

/** Returns a shell command that reads a token without echoing it or adding it to the shell history. */
export function giveToken({ url }: Pick<Where, 'url'>): string {
  return `read -rs SWITCHYARD_TOKEN && export SWITCHYARD_TOKEN SWITCHYARD_URL=${quote(url)}`;
}

/** Creates the failure for a missing token. */
export function createNoTokenFailure(where: Where): Failure {
  const { url, urlFrom, local, data, withheld } = where;
  if (withheld === 'saved') {
    const runs = readRunFile(data) !== undefined;
    const reason = runs ? 'another server saved it' : 'that server is not known to use this data directory';
    return new Failure(
      `The token saved in ${data} is not sent to ${url}: ${reason}.`,
      urlFrom === 'default' ? `${self()} start` : giveToken(where),
    );
  }
  if (withheld !== undefined) {
    const sentence = `The token in ${withheld} is not sent to ${url}: only ${join(data, 'run.json')} names that server.`;
    return new Failure(sentence, `export SWITCHYARD_URL=${quote(url)}`);
  }
  if (!local) return new Failure(`No token is known for ${url}.`, giveToken(where));
  return new Failure(`No token is saved in ${data}. The first start creates one.`, `${self()} start`);
}

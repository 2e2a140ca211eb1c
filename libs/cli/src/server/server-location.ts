import { existsSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Client } from '@switchyard/client';
import { DATA_DIRECTORY_FILE, type RunFile } from '@switchyard/contracts';
import { Failure, wrongUsage } from '../output/failure.ts';
import { readRunFile } from './run-file.ts';
import { quote, ROOT, self, serverProgram } from './installation.ts';

const DEFAULT_URL = 'http://127.0.0.1:4766';
const DEFAULT_DATA = '.switchyard';

/** Where the server is, and who asks. */
export interface Where {
  url: string;
  /** Who said so: a flag, a variable, the run file, or nobody. */
  urlFrom: '--url' | 'SWITCHYARD_URL' | 'run.json' | 'default';
  /** Whether that is this machine. */
  local: boolean;
  data: string;
  token: string | undefined;
  tokenFrom: TokenSource | undefined;
  /** Where a token was found that is not for this server, if that is why there is none. */
  withheld?: TokenSource;
  /** What runs with this data directory, if it is what answers at the url. */
  run: RunFile | undefined;
}

type TokenSource = '--token' | 'SWITCHYARD_TOKEN' | 'SWITCHYARD_TOKEN_FILE' | 'saved';
type Flags = Readonly<Record<string, string>>;
type Variables = Readonly<Record<string, string | undefined>>;

/** Flags win over variables, variables over what the data directory says. An empty variable is as good as none. */
export function locate(flags: Flags, env: Variables = process.env): Where {
  const data = findData(flags, env);
  const found = readRunFile(data);
  const { url, urlFrom } = findUrl(flags, env, found);
  const run = found && sameServer(found.url, url) ? found : undefined;
  const place = { url, urlFrom, local: isLocal(url), data, run };
  return { ...place, ...findToken(place, flags, env) };
}

/** Where the last start was told to keep everything, by the configuration that it had. */
function findData(flags: Flags, env: Variables): string {
  const said = flags['data'] ?? (env['SWITCHYARD_DATA'] || undefined);
  if (said !== undefined) return said;
  const usual = usualData();
  return readLine(join(usual, DATA_DIRECTORY_FILE)) ?? usual;
}

/** The usual data directory as it is best shown: relative when it is below here. */
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

/** The value is not repeated: whoever mixes up two flags may have put a token there. */
function checkUrl(text: string, from: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return text;
  throw wrongUsage(
    `${from} must be an address such as ${DEFAULT_URL}, without a name and password.`,
    from === 'SWITCHYARD_URL' ? 'unset SWITCHYARD_URL' : `${self()} help`,
  );
}

function isLocal(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(new URL(url).hostname);
}

/** This machine has several names, and the server writes down only one of them. An IPv6 address may be somebody else's listener. */
function sameServer(one: string, other: string): boolean {
  const [a, b] = [new URL(one), new URL(other)];
  if (a.origin === b.origin) return true;
  return [a, b].every((url) => isLocal(url.href) && !url.hostname.startsWith('[')) && a.port === b.port && a.protocol === b.protocol;
}

type Place = Pick<Where, 'url' | 'urlFrom' | 'data' | 'run'>;
type Found = Pick<Where, 'token' | 'tokenFrom' | 'withheld'>;

/**
 * A token goes only where whoever gave it meant it to go: one from a flag or a variable never to an address that the run file of
 * some directory names, a saved one to the server that saved it alone.
 */
function findToken({ urlFrom, data, run }: Place, flags: Flags, env: Variables): Found {
  const saved = savedToken(data);
  const given = givenToken(flags, env);
  if (given) {
    const meant = urlFrom !== 'run.json' || given.token === saved;
    return meant ? given : { token: undefined, tokenFrom: undefined, withheld: given.tokenFrom };
  }
  if (saved === undefined) return { token: undefined, tokenFrom: undefined };
  return run ? { token: saved, tokenFrom: 'saved' } : { token: undefined, tokenFrom: undefined, withheld: 'saved' };
}

function givenToken(flags: Flags, env: Variables): { token: string; tokenFrom: TokenSource } | undefined {
  if (flags['token'] !== undefined) return { token: flags['token'], tokenFrom: '--token' };
  const variable = env['SWITCHYARD_TOKEN'] || undefined;
  const file = env['SWITCHYARD_TOKEN_FILE'] || undefined;
  if (variable !== undefined && file !== undefined) {
    throw wrongUsage('SWITCHYARD_TOKEN and SWITCHYARD_TOKEN_FILE are both set; one of them is enough.', 'unset SWITCHYARD_TOKEN');
  }
  if (variable !== undefined) return { token: variable, tokenFrom: 'SWITCHYARD_TOKEN' };
  if (file === undefined) return undefined;
  const token = readToken(file);
  if (token !== undefined) return { token, tokenFrom: 'SWITCHYARD_TOKEN_FILE' };
  throw new Failure(`SWITCHYARD_TOKEN_FILE names ${file}, which is not there or empty.`, 'unset SWITCHYARD_TOKEN_FILE');
}

/** The token that a server left in its data directory. */
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

/** A client of the server. Without a token there is no point in asking. */
export async function connect(where: Where): Promise<Client> {
  if (where.token === undefined) throw noToken(where);
  const { createClient } = await import('@switchyard/client');
  return createClient({ url: where.url, token: where.token });
}

/** Asks for a token without showing it or leaving it in the history of the shell, and says which server it is for. */
export function giveToken({ url }: Pick<Where, 'url'>): string {
  return `read -rs SWITCHYARD_TOKEN && export SWITCHYARD_TOKEN SWITCHYARD_URL=${quote(url)}`;
}

/** What to do when there is no token to ask with. */
export function noToken(where: Where): Failure {
  const { url, urlFrom, local, data, withheld } = where;
  if (withheld === 'saved') {
    const runs = readRunFile(data) !== undefined;
    const why = runs ? 'that is not the server that saved it' : 'nothing says that it runs with this data';
    return new Failure(
      `The token saved in ${data} is not sent to ${url}: ${why}.`,
      urlFrom === 'default' ? `${self()} start` : giveToken(where),
    );
  }
  if (withheld !== undefined) {
    const sentence = `The token in ${withheld} is not sent to ${url}: only ${join(data, 'run.json')} names that server.`;
    return new Failure(sentence, `export SWITCHYARD_URL=${quote(url)}`);
  }
  if (!local) return new Failure(`There is no token for ${url}.`, giveToken(where));
  return new Failure(`There is no token saved in ${data}; the first start makes one.`, `${self()} start`);
}

import { existsSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Client } from '@switchyard/client';
import { Failure, wrongUsage } from './failure.ts';
import { readRunFile, type RunFile } from './run-file.ts';
import { ROOT, self, serverProgram } from './self.ts';

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
  tokenFrom: '--token' | 'SWITCHYARD_TOKEN' | 'SWITCHYARD_TOKEN_FILE' | 'saved' | undefined;
  /** What runs with this data directory, if it is what answers at the url. */
  run: RunFile | undefined;
}

type Flags = Readonly<Record<string, string>>;
type Variables = Readonly<Record<string, string | undefined>>;

/** Flags win over variables, variables over what the data directory says. An empty variable is as good as none. */
export function locate(flags: Flags, env: Variables = process.env): Where {
  const data = findData(flags, env);
  const found = readRunFile(data);
  const { url, urlFrom } = findUrl(flags, env, found);
  const local = isLocal(url);
  const run = found && sameServer(found.url, url) ? found : undefined;
  return { url, urlFrom, local, data, run, ...findToken({ flags, env, data, trusted: local || run !== undefined }) };
}

/** The data directory as it is best shown: relative when it is below here. */
function findData(flags: Flags, env: Variables): string {
  const said = flags['data'] ?? (env['SWITCHYARD_DATA'] || undefined);
  if (said !== undefined) return said;
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
  throw wrongUsage(`${from} must be an address such as ${DEFAULT_URL}, without a name and password.`, `${self()} help`);
}

function isLocal(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(new URL(url).hostname);
}

function sameServer(one: string, other: string): boolean {
  return URL.parse(one)?.origin === new URL(other).origin;
}

interface TokenSearch {
  flags: Flags;
  env: Variables;
  data: string;
  /** The saved token opens everything here, so it goes to this machine and the server that saved it alone. */
  trusted: boolean;
}

function findToken({ flags, env, data, trusted }: TokenSearch): Pick<Where, 'token' | 'tokenFrom'> {
  if (flags['token'] !== undefined) return { token: flags['token'], tokenFrom: '--token' };
  const variable = env['SWITCHYARD_TOKEN'] || undefined;
  const file = env['SWITCHYARD_TOKEN_FILE'] || undefined;
  if (variable !== undefined && file !== undefined) {
    throw wrongUsage('SWITCHYARD_TOKEN and SWITCHYARD_TOKEN_FILE are both set; one of them is enough.', 'unset SWITCHYARD_TOKEN');
  }
  if (variable !== undefined) return { token: variable, tokenFrom: 'SWITCHYARD_TOKEN' };
  if (file !== undefined) {
    const token = readToken(file);
    if (token !== undefined) return { token, tokenFrom: 'SWITCHYARD_TOKEN_FILE' };
    throw new Failure(`SWITCHYARD_TOKEN_FILE names ${file}, which is not there or empty.`, 'unset SWITCHYARD_TOKEN_FILE');
  }
  const saved = trusted ? readToken(join(data, 'token')) : undefined;
  return saved === undefined ? { token: undefined, tokenFrom: undefined } : { token: saved, tokenFrom: 'saved' };
}

function readToken(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new Failure(`The token in ${resolve(file)} cannot be read (${code}).`, `${self()} doctor`, { cause });
  }
}

/** A client of the server. Without a token there is no point in asking. */
export async function connect(where: Where): Promise<Client> {
  if (where.token === undefined) throw noToken(where);
  const { createClient } = await import('@switchyard/client');
  return createClient({ url: where.url, token: where.token });
}

/** What to do when there is no token to ask with. */
export function noToken({ url, local, data }: Where): Failure {
  if (!local) return new Failure(`There is no token for ${url}.`, 'export SWITCHYARD_TOKEN=<a token of that server>');
  return new Failure(`There is no token saved in ${data}; the first start makes one.`, `${self()} start`);
}

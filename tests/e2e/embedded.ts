import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { startProcess, tempDir, type StartedProcess } from '@switchyard/testkit';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The product as a newcomer starts it, in a process and a data directory of its own. */
export interface Running extends AsyncDisposable {
  url: string;
  token: string;
  data: string;
  process: StartedProcess;
}

export interface StartOptions {
  env?: Readonly<Record<string, string>>;
  /** Keeps what is stored there. */
  data?: string;
  /** What a configuration file says. */
  config?: object;
}

/** Limits that a test runs into by being fast, not by being wrong. */
const ROOMY = {
  SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUESTS: '1000000',
  SWITCHYARD_GATEWAY__WS_MESSAGE_RATE_LIMIT__MAX_MESSAGES: '1000000',
  SWITCHYARD_GATEWAY__AUTH_FAILURES__MAX_FAILURES: '1000000',
};

/** What nobody asked for would stand between an answer and who waits for it. */
const QUIET = { SWITCHYARD_GATEWAY__WS_HEARTBEAT_MS: '0' };

/** Starts the launcher itself, waits for its banner, and reads what it wrote for scripts. */
export async function startEmbedded(options: StartOptions = {}): Promise<Running> {
  await using starting = new AsyncDisposableStack();
  const data = options.data ?? starting.use(await tempDir()).path;
  const env = { ...(await configured(data, options.config)), ...options.env };
  const child = starting.use(await launch(data, env, /^Try:/m));
  const run = JSON.parse(await readFile(`${data}/run.json`, 'utf8')) as { url: string };
  const token = (await readFile(`${data}/token`, 'utf8')).trim();
  const started = starting.move();
  return { url: run.url, token, data, process: child, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

async function configured(data: string, config: object | undefined): Promise<Record<string, string>> {
  if (config === undefined) return {};
  const file = `${data}/config.yaml`;
  await writeFile(file, JSON.stringify(config)); // which is YAML too
  return { SWITCHYARD_CONFIG: file };
}

/** The launcher on a data directory, whatever comes of it. */
export function launch(data: string, env: StartOptions['env'] = {}, ready?: RegExp): Promise<StartedProcess> {
  return startProcess([process.execPath, `${root}services/embedded/src/main.ts`], {
    env: { HOME: data, SWITCHYARD_DATA: data, SWITCHYARD_PORT: '0', SWITCHYARD_CONFIG: ':', ...ROOMY, ...QUIET, ...env },
    ...(ready === undefined ? {} : { ready }),
  });
}

/** The command as it is typed, against a running product; resolves when it has ended. */
export async function command(running: Running, ...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'], HOME: running.data, SWITCHYARD_DATA: running.data, NO_COLOR: '1' };
  const child = spawn(`${root}bin/switchyard`, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number | null, stdout, stderr };
}

/** One JSON-RPC message over HTTP, sent as it is; the answer's status and body. */
export async function post(
  running: Running,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const response = await fetch(`${running.url}/rpc`, {
    method: 'POST',
    headers: { authorization: `Bearer ${running.token}`, 'content-type': 'application/json', ...headers },
    body,
  });
  return { status: response.status, text: await response.text() };
}

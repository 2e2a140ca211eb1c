import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { startProcess, tempDir, type StartedProcess } from '@switchyard/testkit';

const root = fileURLToPath(new URL('../../', import.meta.url));

const PROGRAMS = { embedded: `${root}services/embedded/src/main.ts`, cluster: `${root}scripts/cluster/main.ts` };

/** All services in one process, or one process per replica with real servers. */
export type Profile = keyof typeof PROGRAMS;

/** A running product with its own data directory. */
export interface Running extends AsyncDisposable {
  url: string;
  token: string;
  /** The client of the token, which was created at the first start or set by the launcher. */
  client: string;
  /** The tenant of the token; session keys begin with it. */
  tenant: string;
  data: string;
  process: StartedProcess;
}

export interface StartOptions {
  env?: Readonly<Record<string, string>>;
  /** An existing data directory to use. */
  data?: string;
  /** The content of the configuration file. */
  config?: object;
}

/** Rate limits that a fast test would exceed. */
const ROOMY = {
  SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUESTS: '1000000',
  SWITCHYARD_GATEWAY__WS_MESSAGE_RATE_LIMIT__MAX_MESSAGES: '1000000',
  SWITCHYARD_GATEWAY__AUTH_FAILURES__MAX_FAILURES: '1000000',
};

/** Heartbeats would appear between a request and its response. */
const QUIET = { SWITCHYARD_GATEWAY__WS_HEARTBEAT_MS: '0' };

/** Time for a dozen processes to start on a busy machine. */
const PATIENCE_MS = 90_000;

/** No balancer needs a drain delay when the whole cluster ends. */
const PROMPT = { SWITCHYARD_GATEWAY__DRAIN_DELAY_MS: '0' };

/** All services in one process. */
export function startEmbedded(options: StartOptions = {}): Promise<Running> {
  return startProduct('embedded', options);
}

/** Starts the launcher, waits for its banner, and reads run.json and the token. */
export async function startProduct(profile: Profile, options: StartOptions = {}): Promise<Running> {
  await using starting = new AsyncDisposableStack();
  const data = options.data ?? starting.use(await tempDir()).path;
  const env = { ...(await configured(data, options.config)), ...options.env };
  const child = starting.use(await launch(data, env, { profile, ready: /^Try:/m }));
  if (profile === 'cluster') starting.defer(async () => void (await child.end())); // the launcher ends its processes
  const run = JSON.parse(await readFile(`${data}/run.json`, 'utf8')) as { url: string };
  const token = (await readFile(`${data}/token`, 'utf8')).trim();
  const started = starting.move();
  return {
    url: run.url,
    token,
    client: profile === 'cluster' ? 'env' : 'first',
    tenant: 'default',
    data,
    process: child,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

async function configured(data: string, config: object | undefined): Promise<Record<string, string>> {
  if (config === undefined) return {};
  const file = `${data}/config.yaml`;
  await writeFile(file, JSON.stringify(config)); // JSON is valid YAML
  return { SWITCHYARD_CONFIG: file };
}

/** All log lines of a product's processes. */
export async function linesWritten({ data }: Pick<Running, 'data'>): Promise<string[]> {
  const { processes } = JSON.parse(await readFile(`${data}/run.json`, 'utf8')) as { processes: { log: string }[] };
  const texts = await Promise.all(processes.map(({ log }) => readFile(log, 'utf8').catch(() => ''))); // the launcher may have written nothing
  return texts.flatMap((text) => text.slice(0, text.lastIndexOf('\n') + 1).split('\n'));
}

/** Starts the launcher on a data directory without waiting for readiness. */
export function launch(
  data: string,
  env: StartOptions['env'] = {},
  { profile = 'embedded', ready }: { profile?: Profile; ready?: RegExp } = {},
): Promise<StartedProcess> {
  return startProcess([process.execPath, PROGRAMS[profile]], {
    env: { HOME: data, SWITCHYARD_DATA: data, SWITCHYARD_PORT: '0', SWITCHYARD_CONFIG: ':', ...ROOMY, ...QUIET, ...PROMPT, ...env },
    ...(ready === undefined ? {} : { ready }),
    timeoutMs: PATIENCE_MS,
  });
}

/** Returns the output of a start that must fail. */
export async function refusal(started: StartedProcess): Promise<string> {
  const outcome = await started.line(/^Try:/m).then(
    () => 'it serves',
    () => started.exited,
  );
  assert.deepEqual(outcome, { code: 1, signal: null });
  return started.output();
}

/** Runs the CLI against a running product until it ends. */
export async function command(
  running: Pick<Running, 'data'> & Pick<StartOptions, 'env'>,
  ...words: string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'], HOME: running.data, SWITCHYARD_DATA: running.data, NO_COLOR: '1', ...running.env };
  const child = spawn(`${root}bin/switchyard`, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number | null, stdout, stderr };
}

/** Sends a raw JSON-RPC message over HTTP. Returns status and body. */
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

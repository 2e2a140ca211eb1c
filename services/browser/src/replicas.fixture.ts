import assert from 'node:assert/strict';
import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contracts, type Principal } from '@switchyard/contracts';
import { openHost, STORAGE_KEY_NAME, type Host } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { openNats, serveStorageKey, startMongo, startProcess, tempDir, type StartedProcess } from '@switchyard/testkit';
import { chromiumMissing, STORAGE_KEY } from './browser.fixture.ts';
import { getBrowserKey } from './ownership/browser-document.ts';
import { createStoredStates, stateCollection } from './ownership/stored-state.ts';
import type { StorageState } from './sessions/storage-state.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
/** The reason why tests with replicas are skipped, otherwise false. */
export const SKIP_REPLICAS: string | false = NATS_OFF || (chromiumMissing ?? false);
const POLL_INTERVAL_MS = 50;
/** A busy machine starts processes slowly. */
const START_TIMEOUT_MS = 90_000;

export interface Replicas {
  host: Host;
  replicas: StartedProcess[];
  start(name: string): Promise<StartedProcess>;
  /** Returns the stored cookies and storage of the caller's session. */
  readState(caller: Principal): Promise<StorageState | undefined>;
}

/** Starts replicas of the service in processes of their own, on one broker and one database. */
export async function startReplicas(stack: AsyncDisposableStack, names: readonly string[]): Promise<Replicas> {
  const [nats, mongo] = await Promise.all([openNats(), startMongo()]);
  stack.defer(async () => void (await Promise.all([nats.stop(), mongo.stop()])));
  const data = stack.use(await tempDir());
  const config = join(data.path, 'config.json');
  await writeFile(config, JSON.stringify({ browser: { enabled: true, allowLoopbackNavigation: true, timeoutMs: 20_000 } }));
  const cluster = { SWITCHYARD_BUS: nats.url, SWITCHYARD_STORE: mongo.url, SWITCHYARD_BLOBS: `file:${join(data.path, 'blobs')}` };
  const env = { ...cluster, SWITCHYARD_CONFIG: config };
  const host = stack.use(await openHost({ env: { ...env, SWITCHYARD_DATA: data.path }, log: silentLogger() }));
  await (await host.connect('secrets')).serve(contracts.secrets, { 'secrets.storageKey': serveStorageKey(STORAGE_KEY) }, { version: '0' });
  const store = await host.store('browser');
  stack.defer(() => store.close());
  const { states } = await store.open({ states: stateCollection });
  const key = { id: STORAGE_KEY_NAME, bytes: STORAGE_KEY };
  const stored = createStoredStates({ states, readKey: async () => key, now: Date.now });
  const start = async (name: string): Promise<StartedProcess> =>
    stack.use(
      await startProcess([process.execPath, join(import.meta.dirname, 'main.ts')], {
        env: { ...env, SWITCHYARD_DATA: join(data.path, name), SWITCHYARD_REPLICA: name },
        ready: /"msg":"serving"/,
        timeoutMs: START_TIMEOUT_MS,
      }),
    );
  return { host, replicas: await Promise.all(names.map(start)), start, readState: (caller) => stored.load(getBrowserKey(caller)) };
}

export interface Chromium {
  pid: number;
  profile: string;
}

/** Lists the Chromium processes that descend from this process, without their helpers. */
export async function listChromium(ancestor: number): Promise<Chromium[]> {
  const parents = new Map<number, number>();
  const found: Chromium[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const [stat, command] = await Promise.all([read(`/proc/${entry}/stat`), read(`/proc/${entry}/cmdline`)]);
    parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]));
    const words = command.split('\0');
    const profile = words.find((word) => word.startsWith('--user-data-dir='))?.slice('--user-data-dir='.length);
    const isMain = words[0]?.endsWith('chromium') === true && !words.some((word) => word.startsWith('--type='));
    if (isMain && profile !== undefined) found.push({ pid: Number(entry), profile });
  }
  return found.filter(({ pid }) => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at)) if (at === ancestor) return true;
    return false;
  });
}

const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Resolves when neither the process nor its profile exists, with the time since `since`. */
export function waitUntilGone({ pid, profile }: Chromium, since: number, limitMs: number): Promise<number> {
  const check = async (): Promise<number | undefined> =>
    (await exists(`/proc/${pid}`)) || (await exists(profile)) ? undefined : performance.now() - since;
  return poll(check, since, limitMs);
}

/** Repeats a check until it returns a value: state of other processes has no events. */
export async function poll<T>(check: () => Promise<T | undefined>, since: number, limitMs: number): Promise<T> {
  for (;;) {
    const value = await check();
    if (value !== undefined) return value;
    assert.ok(performance.now() - since < limitMs, `not within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}

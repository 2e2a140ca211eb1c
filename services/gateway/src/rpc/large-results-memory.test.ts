import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openBlobStore, serveBlobs } from '@switchyard/blob';
import { connectBus, type Bus } from '@switchyard/bus';
import { SERVER_FLAGS, sessions, TOKENS_BUCKET, TOKENS_COMPLETE_KEY } from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { largePayloads, watchReplicas } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { openNats, startProcess, tempDir } from '@switchyard/testkit';
import { SECRETS } from '../gateway.fixture.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const MB = 1_000_000;
const MAX_GROWTH_MB = 64;
const BLOB_TOKEN = 'a token of all services, long enough';
const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));

const log = silentLogger();
const exported = (megabytes: number) => ({
  sessionKey: 'k',
  messages: Array.from({ length: megabytes }, (_, n) => ({ role: 'user', content: `${n}`.padEnd(MB, 'x') })),
  metadata: {},
  messageCount: megabytes,
  createdAt: 1,
  updatedAt: 2,
});

interface Deployment {
  pid: number;
  /** Received bytes and content length. A slow reader pauses after each part of the first ten megabytes. */
  requestExport(megabytes: number, slowly?: boolean): Promise<[came: number, promised: number]>;
  /** The largest payload on the bus. */
  largest(): number;
}

/** A gateway in a process of its own and a service in this one, with a bus and a store. */
async function startDeployment(t: TestContext): Promise<Deployment> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const directory = stack.use(await tempDir()).path;
  const nats = await openNats();
  stack.defer(() => nats.stop());
  const store = stack.adopt(await openBlobStore(`file:${directory}/blobs`, { log }), (opened) => opened.close());
  const served = stack.use(await serveBlobs({ store, host: '127.0.0.1', port: 0, token: BLOB_TOKEN, log }));
  const bus = await connectBus(nats.url, { log, service: 'sessions', large: largePayloads(() => Promise.resolve(store), log) });
  stack.defer(() => bus.drain());
  let largest = 0;
  bus.subscribe('>', ({ data }) => void (largest = Math.max(largest, data.length)));
  const answer = ({ session_key }: { session_key: string }) => exported(Number(session_key));
  await bus.serve(sessions, { 'session.export': answer }, { version: '0.0.0' });
  const token = { id: 'all', hash: hashToken(SECRETS.all), scopes: ['*'], tenant: 'default', client: 'all', ver: 1 };
  const bucket = await bus.kv(TOKENS_BUCKET);
  await bucket.put(TOKENS_COMPLETE_KEY, Buffer.from('{"told":true}'));
  const revision = await bucket.put('default.all', Buffer.from(JSON.stringify(token)));

  const env = {
    SWITCHYARD_BUS: nats.url,
    SWITCHYARD_BLOBS: `grpc://127.0.0.1:${served.port}`,
    SWITCHYARD_BLOB_TOKEN: BLOB_TOKEN,
    SWITCHYARD_CONFIG: ':',
    SWITCHYARD_DATA: directory,
    SWITCHYARD_PORT: '0',
  };
  const gateway = stack.use(await startProcess([process.execPath, ...SERVER_FLAGS, MAIN], { env, ready: /"url":"(http:[^"]+)"/ }));
  await waitForRevision(bus, revision);
  return { pid: gateway.pid, requestExport: (...args) => requestExport(gateway.ready[1] ?? '', ...args), largest: () => largest };
}

async function waitForRevision(bus: Bus, revision: number): Promise<void> {
  using replicas = await watchReplicas(bus, TOKENS_BUCKET);
  assert.ok(await replicas.awaitRevision({ service: 'gateway', revision, timeoutMs: 20_000 }));
}

async function requestExport(url: string, megabytes: number, slowly = false): Promise<[number, number]> {
  const params = { session_key: String(megabytes) };
  const response = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRETS.all}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session.export', params }),
  });
  let received = 0;
  for await (const part of response.body ?? []) {
    received += part.length;
    if (slowly && received < 10 * MB) await sleep(5);
  }
  return [received, Number(response.headers.get('content-length'))];
}

function residentMb(pid: number): number {
  return (Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024) / MB;
}

test(
  'streams a result of 50 MB with less than 64 MB of memory and no message above 1 MiB',
  { skip: NATS_OFF || (process.platform !== 'linux' && 'requires /proc') },
  async (t) => {
    const deployment = await startDeployment(t);
    await deployment.requestExport(1); // warm-up, so that loading and connecting is not measured
    for (const slowly of [false, true]) {
      const before = residentMb(deployment.pid);
      let [peak, samples] = [0, 0];
      const watch = setInterval(() => {
        peak = Math.max(peak, residentMb(deployment.pid) - before);
        samples += 1;
      }, 2);
      const [received, promised] = await deployment.requestExport(50, slowly);
      clearInterval(watch);
      assert.equal(received, promised);
      assert.ok(received > 50 * MB);
      t.diagnostic(`${slowly ? 'slowly' : 'at once'}: ${peak.toFixed(1)} MB more, the largest message ${deployment.largest()} bytes`);
      // The second export may use memory that the first one left behind.
      assert.ok(samples > 10 && peak < MAX_GROWTH_MB, `${peak} MB more in ${samples} samples`);
    }
    assert.ok(deployment.largest() > 0 && deployment.largest() <= 1_048_576, `${deployment.largest()} bytes crossed the bus`);
  },
);

// alone: turns must answer within their deadline after an outage
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { startProduct, type Profile, type Running } from '../e2e/embedded.ts';
import { call } from '../e2e/exchange.ts';
import { getProcesses, SKIP } from './processes.ts';

const AWAY_MS = 20_000;
const AWAY_SERVICES: ReadonlySet<string> = new Set(['secrets', 'registry', 'memory']);
const TURNS = 8;
const ANSWER = 'Hello from upstream.';

/** Forwards a fixed port to the upstream, while it is open. Otherwise the port refuses connections. */
async function reservePort(target: () => string): Promise<{ port: number; open(): Promise<Server> }> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return {
    port,
    async open() {
      const server = createServer((socket) => {
        const upstream = connect(Number(new URL(target()).port), '127.0.0.1');
        socket.on('error', () => upstream.destroy()).pipe(upstream);
        upstream.on('error', () => socket.destroy()).pipe(socket);
      });
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      return server;
    },
  };
}

function startTurns(product: Running, name: string): Promise<{ response: string }[]> {
  return Promise.all(
    Array.from({ length: TURNS }, (_, n) =>
      call<{ response: string }>(product, 'agent.execute', { message: 'hello', sessionKey: { channelId: `${name}-${n}` } }),
    ),
  );
}

/** A stateless call does not wait for the outage. Its client is told to call again. */
async function assertRetryable({ url, token }: Running): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'default', messages: [{ role: 'user', content: 'hello' }] }),
  });
  const text = await response.text();
  assert.equal(response.status, 503, text);
  assert.ok(Number(response.headers.get('retry-after')) >= 1, text);
  assert.notEqual(response.headers.get('x-should-retry'), 'false', text);
}

for (const profile of ['embedded', 'cluster'] satisfies Profile[]) {
  describe(`an accepted turn waits for a dependency, ${profile}`, { skip: profile === 'cluster' ? SKIP : false, timeout: 600_000 }, () => {
    let product: Running;
    let upstream: Upstream;
    const stack = new AsyncDisposableStack();
    before(async () => {
      upstream = stack.use(await startUpstream());
    });
    after(() => stack.disposeAsync());

    test('that refuses connections for twenty seconds', async () => {
      const { port, open } = await reservePort(() => upstream.url);
      const entry = {
        type: 'openai-compatible',
        baseUrl: `http://127.0.0.1:${port}/v1`,
        models: [{ id: 'one' }],
        apiKeyName: 'LAB_API_KEY',
      };
      const agents = { default: { provider: 'lab', model: 'one', circuitBreaker: { resetTimeoutMs: 10_000 } } };
      product = stack.use(
        await startProduct(profile, {
          config: { providers: { entries: { lab: entry } }, agents },
          env: { LAB_API_KEY: 'a-key-of-the-lab' },
        }),
      );
      const turns = startTurns(product, 'refused');
      await Promise.all([sleep(AWAY_MS), assertRetryable(product)]);
      const server = await open();
      stack.defer(() => void server.close());
      for (const { response } of await turns) assert.equal(response, ANSWER);
    });

    test('when secrets, registry and memory are away for twenty seconds', { skip: profile === 'embedded' && 'one process' }, async () => {
      const replicas = (await getProcesses(product)).filter(({ service }) => AWAY_SERVICES.has(service));
      for (const { pid } of replicas) process.kill(pid, 'SIGSTOP');
      const turns = startTurns(product, 'away');
      await sleep(AWAY_MS);
      for (const { pid } of replicas) process.kill(pid, 'SIGCONT');
      for (const { response } of await turns) assert.equal(response, ANSWER);
    });
  });
}

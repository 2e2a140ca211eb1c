import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'node:test';
import type { LoadPlan } from './load-plan.ts';
import { startLoop, type Samples } from './loops.ts';

const STALL_MS = 400;
const CONNECTIONS = 4;
const PER_SECOND = 200;

/** A server that stops responding for a while and then sends all pending responses, like a long garbage collection. */
async function stallingServer() {
  let pendingWrites: ServerResponse[] | undefined;
  const answer = (response: ServerResponse): void => void response.end('{"jsonrpc":"2.0","result":{},"id":1}');
  const server = createServer((request, response) => {
    request.resume();
    if (pendingWrites === undefined) answer(response);
    else pendingWrites.push(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stall() {
      pendingWrites = [];
      await delay(STALL_MS);
      pendingWrites.forEach(answer);
      pendingWrites = undefined;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function measureStall(perSecond?: number): Promise<Samples> {
  await using server = await stallingServer();
  const { url } = server;
  const options = { kind: 'http', url, path: '/', headers: {}, body: '{}', expect: 'result' } as const;
  const plan: LoadPlan = { ...options, connections: CONNECTIONS, perSecond, warmMs: 0, ms: 0, pids: [] };
  const loop = await startLoop(plan);
  loop.begin();
  await server.stall();
  const samples = await loop.take();
  await loop.end();
  return samples;
}

const slow = ({ latencies }: Samples): number => latencies.filter((ms) => ms > STALL_MS / 4).length;

test('an open loop counts a stall for all requests of its time, also those without a free connection', async () => {
  const samples = await measureStall(PER_SECOND);
  const due = (PER_SECOND * STALL_MS * 0.75) / 1_000;
  assert.ok(slow(samples) > due / 2, `${slow(samples)} of some ${due} were slow`);
  assert.equal(samples.failures, 0);
});

test('a closed loop sends nothing during a stall and hardly measures it', async () => {
  const samples = await measureStall();
  assert.ok(slow(samples) <= CONNECTIONS, `${slow(samples)} were slow`);
});

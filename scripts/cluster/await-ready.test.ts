import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { awaitReady } from './await-ready.ts';

interface Answer {
  status: number;
  body: object;
}

/** A server whose `/readyz` returns the response that the test set last. */
async function answering(t: TestContext, first: Answer): Promise<{ url: string; say(answer: Answer): void }> {
  let answer = first;
  const server = createServer((_request, response) => response.writeHead(answer.status).end(JSON.stringify(answer.body)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, say: (next) => void (answer = next) };
}

const sees = (...replicas: string[]): Answer => ({
  status: 200,
  body: { dependencies: { bus: { ready: true } }, services: [{ replicas: replicas.map((replica) => ({ replica })) }] },
});

test('awaitReady reports the missing replica and the reason it gives itself', async (t) => {
  const gateway = await answering(t, sees('gateway-1'));
  const reason = 'waits up to 15 s for a heartbeat of sessions.dead, which use another database';
  const lacking = { status: 503, body: { dependencies: { bus: { ready: true }, 'sessions.store': { ready: false, reason } } } };
  const sessions = await answering(t, lacking);
  const dead = { name: 'secrets-1', url: 'http://127.0.0.1:1' };
  const told = Promise.withResolvers<string>();
  const waiting = awaitReady({
    gateways: [gateway.url],
    replicas: [{ name: 'gateway-1', url: gateway.url }, { name: 'sessions-1', url: sessions.url }, dead],
    token: 't',
    signal: new AbortController().signal,
    say: told.resolve,
  });
  assert.equal(await told.promise, `sessions-1 (sessions.store: ${reason}), secrets-1`);
  gateway.say(sees('gateway-1', 'sessions-1', 'secrets-1'));
  await waiting;
});

test('awaitReady reports a gateway with its missing dependencies, or its address when it does not answer', async (t) => {
  const lacking = { status: 503, body: { dependencies: { 'gateway.sessions': { ready: false, reason: 'nobody answers' } } } };
  const gateway = await answering(t, lacking);
  const ending = new AbortController();
  const told = Promise.withResolvers<string>();
  const waiting = awaitReady({
    gateways: [gateway.url, 'http://127.0.0.1:1'],
    replicas: [],
    token: 't',
    signal: ending.signal,
    say: told.resolve,
  });
  assert.equal(await told.promise, `${gateway.url} lacks gateway.sessions: nobody answers, the gateway at http://127.0.0.1:1`);
  ending.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
});

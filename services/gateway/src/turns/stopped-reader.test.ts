import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import type { Handler } from '@switchyard/bus';
import { SECRETS } from '../gateway.fixture.ts';
import { readEvents, RESULT, startTestTurns, type TestTurns } from './turns.fixture.ts';

const PIECE = 'x'.repeat(64 * 1024);
const settings = { wsMessageRateLimit: { maxMessages: 100_000, windowMs: 60_000 } };

/** Requests a stream on a raw socket and reads nothing. */
function openUnreadStream({ gateway }: TestTurns): Socket {
  const { hostname, port } = new URL(gateway.url);
  const body = JSON.stringify({ model: 'dev/echo', stream: true, messages: [{ role: 'user', content: 'hi' }] });
  const headers = ['Host: localhost', `Authorization: Bearer ${SECRETS.all}`, 'Content-Type: application/json'];
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined).pause();
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${headers.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  return socket;
}

test('closes a stream that is not read and cancels its turn without affecting other clients', { timeout: 60_000 }, async () => {
  const disconnected = new AbortController();
  let sentBytes = 0;
  /** Sends text until the client disconnects. */
  const run: Handler<'turns.run'> = async function* (_asked, { signal }) {
    signal.addEventListener('abort', () => disconnected.abort());
    for (let n = 0; !signal.aborted; n++) {
      sentBytes += PIECE.length;
      yield { n, type: 'delta', text: PIECE };
      await new Promise(setImmediate);
    }
    return RESULT;
  };
  await using t = await startTestTurns(undefined, { settings, handlers: { 'turns.run': run } });
  const starting = t.next();
  const events = readEvents(await t.stream('message=hi'));
  const otherTurn = await starting;
  const client = await t.gateway.connect();
  await events.next(); // accepted

  const socket = openUnreadStream(t);
  let rounds = 0;
  for (; !disconnected.signal.aborted; rounds++) {
    otherTurn.sendText(`${rounds} `);
    assert.equal((await events.next()).value?.event, 'token');
    assert.equal((await client.request({ jsonrpc: '2.0', method: 'system.ping', id: rounds })).id, rounds);
  }
  assert.ok(rounds > 10, `${rounds} rounds`);
  assert.ok(sentBytes < 64 * 1024 * 1024, `${sentBytes} bytes were buffered`);

  const closed = once(socket, 'close');
  let last = '';
  socket
    .setEncoding('utf8')
    .on('data', (text: string) => (last = (last + text).slice(-100)))
    .resume();
  await closed;
  assert.ok(!last.includes('[DONE]'), 'the stream does not look complete');
  otherTurn.done();
  assert.equal((await Array.fromAsync(events)).at(-1)?.event, 'done');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAST, startServer } from './client.fixture.ts';
import { createClient } from './client.ts';
import { RpcError } from './rpc-error.ts';
import type { SystemEvent } from './system-events.ts';

const render = (id: number, name: string, data: unknown): string => `id: s-${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

async function take(events: AsyncIterable<SystemEvent>, count: number): Promise<SystemEvent[]> {
  const taken: SystemEvent[] = [];
  for await (const event of events) if (taken.push(event) === count) break;
  return taken;
}

test('events resumes by the last id after a broken stream and after 503, and reports a reset', async () => {
  const ids: unknown[] = [];
  await using server = await startServer({
    http(request, response) {
      ids.push(request.headers['last-event-id']);
      if (ids.length === 2) {
        response.writeHead(503).end('{"error":"draining"}');
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (ids.length === 1) response.end(`id: s-1\n\n${render(2, 'message:sent', { content: 'a' })}`);
      else response.write(`${render(7, 'stream:reset', { reason: 'TOO_OLD' })}${render(8, 'message:sent', { content: 'b' })}`);
    },
  });
  const client = createClient({ url: server.url, token: 'secret', reconnect: FAST });
  assert.deepEqual(await take(client.events(), 4), [
    { type: 'position', id: 's-1' },
    { type: 'event', id: 's-2', name: 'message:sent', payload: { content: 'a' } },
    { type: 'reset', id: 's-7', reason: 'TOO_OLD' },
    { type: 'event', id: 's-8', name: 'message:sent', payload: { content: 'b' } },
  ]);
  assert.deepEqual(ids, [undefined, 's-2', 's-2']);
});

test('events fails at once for a refused token', async () => {
  let requests = 0;
  await using server = await startServer({
    http(_request, response) {
      requests += 1;
      response.writeHead(401).end('{"error":"Unauthorized"}');
    },
  });
  const client = createClient({ url: server.url, token: 'old', reconnect: FAST });
  await assert.rejects(take(client.events(), 1), (error) => error instanceof RpcError && error.data.code === 'UNAUTHENTICATED');
  assert.equal(requests, 1);
});

test('events ends with the reason of its signal', async () => {
  await using server = await startServer({
    http: (_request, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: s-1\n\n'),
  });
  const controller = new AbortController();
  const client = createClient({ url: server.url, reconnect: FAST });
  await assert.rejects(async () => {
    for await (const event of client.events({ signal: controller.signal }))
      if (event.type === 'position') controller.abort(new Error('left'));
  }, /left/);
});

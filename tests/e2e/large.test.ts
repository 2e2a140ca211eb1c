import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, after, test } from 'node:test';
import { connectBus } from '@switchyard/bus';
import { callables, listBuiltServices, type ServiceName } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { getProcess } from '../cluster/processes.ts';
import { openai, rest } from './clients.ts';
import { post, type Running } from './embedded.ts';
import { one, openExchange, request } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

/** Payloads above this size leave the message for the blob store. */
const MAX_INLINE_BYTES = 1_048_576;
/** Slightly below the maximum request size. */
const LONG = 'ü☃x'.repeat(150_000);
const readText = (text: string): string => `I am dev/echo, the development model. You said: ${text}`;
/** Subjects of a service other than requests and replies. */
const HEARD: Partial<Record<ServiceName, readonly string[]>> = { gateway: ['turn.*', 'evt.>', 'notify.all.*', 'notify.client.*.*'] };

/** Subscribes as each service to all of its subjects and records the largest message. */
async function tapBus(product: Running, stack: AsyncDisposableStack): Promise<{ largest: number; messages: number }> {
  const { ports } = await getProcess(product, 'nats');
  const receivedMessage = { largest: 0, messages: 0 };
  for (const service of listBuiltServices()) {
    const password = readFileSync(`${product.data}/cluster/keys/nats-${service}`, 'utf8').trim();
    const url = `nats://127.0.0.1:${ports['nats']}`;
    const bus = await connectBus(url, { log: silentLogger(), service, replica: 'tap', credentials: { user: service, password } });
    stack.defer(() => bus.drain());
    const asked = [...callables.values()].filter((callable) => callable.service === service).map(({ subject }) => subject);
    for (const subject of [...asked, ...(HEARD[service] ?? []), `_INBOX_${service}.>`])
      bus.subscribe(subject, ({ data }) => {
        receivedMessage.messages++;
        receivedMessage.largest = Math.max(receivedMessage.largest, data.length);
      });
    await bus.flush();
  }
  return receivedMessage;
}

async function converse(product: Running, channelId: string, times: number): Promise<string> {
  await using client = await openExchange('http', product);
  const params = { message: LONG, sessionKey: { channelId } };
  let key = '';
  for (let n = 0; n < times; n++) {
    const { response, sessionKey } = one(await client.say(request('agent.execute', params))).result as Record<string, string>;
    assert.equal(response, readText(LONG));
    key = sessionKey ?? '';
  }
  return key;
}

function getContents(result: unknown): string[] {
  return (result as { messages: { content: string }[] }).messages.map(({ content }) => content);
}

onEachProfile(
  'payloads larger than a bus message',
  (product, profile) => {
    const stack = new AsyncDisposableStack();
    let heard: { largest: number; messages: number } | undefined;
    before(async () => {
      if (profile === 'cluster') heard = await tapBus(product, stack);
    });
    after(() => stack.disposeAsync());

    test('returns a session of megabytes over POST /rpc and WebSocket, and one above 8 MB over POST /rpc only', async () => {
      const key = await converse(product, 'long', 2);
      const ask = request('session.export', { session_key: key });
      for (const transport of ['http', 'ws'] as const) {
        await using client = await openExchange(transport, product);
        assert.deepEqual(getContents(one(await client.say(ask)).result), [LONG, readText(LONG), LONG, readText(LONG)], transport);
      }
      await converse(product, 'long', 3);
      const { status, text } = await post(product, ask);
      assert.equal(status, 200);
      assert.ok(Buffer.byteLength(text) > 8 * 1_048_576, `${Buffer.byteLength(text)} bytes`);
      assert.equal(getContents((JSON.parse(text) as { result: unknown }).result).join(''), (LONG + readText(LONG)).repeat(5));
      await using socket = await openExchange('ws', product);
      const { error } = one(await socket.say(ask));
      assert.match(error?.message ?? '', /^The result of session\.export is too large for this request: .* POST \/rpc/);
      assert.equal(error?.data?.['reason'], 'PAYLOAD_TOO_LARGE');
    });

    test('returns a long answer through every route, streamed or not', async () => {
      const message = LONG.slice(0, 100_000);
      const { body } = await rest(product, '/api/chat', { message });
      assert.equal(body['response'], readText(message));
      const client = openai(product);
      const asked = { model: 'default', messages: [{ role: 'user' as const, content: message }] };
      assert.equal((await client.chat.completions.create(asked)).choices[0]?.message.content, readText(message));
      let text = '';
      for await (const { choices } of await client.chat.completions.create({ ...asked, stream: true }))
        text += choices[0]?.delta.content ?? '';
      assert.equal(text, readText(message));
    });

    if (profile === 'embedded') return; // one process has no bus messages

    test('sends no bus message above 1 MiB', () => {
      assert.ok((heard?.messages ?? 0) > 50, `${heard?.messages} messages were heard`);
      assert.ok(heard && heard.largest > 1_000 && heard.largest <= MAX_INLINE_BYTES, `one of ${heard?.largest} bytes`);
    });
  },
  { start: () => ({ env: { SWITCHYARD_SECURITY__INPUT__MAX_CHARS: '1048576' } }) },
);

import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EventSource } from 'eventsource';
import OpenAI, { APIError } from 'openai';
import { createClient, RpcError, type ChatEvent } from '@switchyard/client';
import { chatUrl } from '../e2e/clients.ts';
import { startProduct, type Running } from '../e2e/embedded.ts';
import { sendRequest } from '../e2e/exchange.ts';
import { isNamed, listen, type Received } from '../e2e/listening.ts';
import { getProcesses, getProcess, replaced, SKIP } from './processes.ts';

const config = { agents: { default: {}, slow: { provider: 'dev', model: 'slow' } } };
const QUESTION = Array.from({ length: 120 }, (_, n) => `word${n}`).join(' ');
const RESPONSE = `I am dev/slow, the development model. You said: ${QUESTION}`;
const PATIENCE_MS = 30_000;
const RETRY_MS = 100;
const GATEWAYS = ['gateway-1', 'gateway-2'];
const RUNNERS = ['sessions-1', 'sessions-2'];

describe('streams while processes are killed', { skip: SKIP, timeout: 400_000 }, () => {
  let product: Running;
  before(async () => void (product = await startProduct('cluster', { config })));
  after(() => product[Symbol.asyncDispose]());

  test('tenant events arrive without a gap while every gateway is killed', async () => {
    using receivedMessage = listenToEvents(product);
    await receivedMessage.opened;
    for (let n = 0; n < 30; n++) {
      if (n === 10) await killOne('gateway-1');
      if (n === 20) await killOne('gateway-2');
      await sendMessage(`counted ${n}`);
    }
    await receivedMessage.until('counted 29');
    const counted = receivedMessage.texts.filter((text) => text.startsWith('counted '));
    assert.deepEqual(
      counted,
      Array.from({ length: 30 }, (_, n) => `counted ${n}`),
    );
    assert.deepEqual(receivedMessage.resets, []);
  });

  test('a /v1 request with a key is complete after a retry when its runners were killed', async () => {
    const client = new OpenAI({ baseURL: `${product.url}/v1`, apiKey: product.token, maxRetries: 0 });
    const body = { model: 'slow', messages: [{ role: 'user' as const, content: QUESTION }], stream: true as const };
    const read = async (onText: () => Promise<void> | void = () => undefined): Promise<string> => {
      let text = '';
      for await (const { choices } of await client.chat.completions.create(body, { headers: { 'Idempotency-Key': 'of-the-killed' } })) {
        text += choices[0]?.delta.content ?? '';
        if (text !== '') await onText();
      }
      return text;
    };
    let killed: Promise<void> | undefined;
    await assert.rejects(
      read(() => void (killed ??= killAtOnce(RUNNERS))),
      APIError,
    );
    await killed;
    assert.equal(await read(), RESPONSE);
    assert.equal(await read(), RESPONSE, 'and kept');
  });

  const disturbances: Record<string, () => Promise<void>> = {
    'every gateway': () => killAll(GATEWAYS),
    'every runner': () => killAll(RUNNERS),
    'NATS with all that it kept': wipeNats,
  };

  for (const [description, disturb] of Object.entries(disturbances)) {
    test(`an EventSource reads a complete answer of one turn when ${description} is killed`, async () => {
      const channel = `source-${description.replaceAll(' ', '-')}`;
      using stream = listen(chatUrl(product, { message: QUESTION, agentId: 'slow', sessionKey: channel }));
      await stream.until(isNamed('token'));
      await disturb();
      const { name, data } = await stream.until(isNamed('done', 'error'));
      assert.equal(name, 'done', JSON.stringify(data));
      assert.equal(data['response'], RESPONSE);
      assertWhole(stream.receivedMessages);
      await stream.stopped;
      assert.equal(stream.statuses.at(-1), 204);
      assert.deepEqual(await contentsOnceAvailable(channel), [QUESTION, RESPONSE], 'the question was asked once');
    });

    test(`a WebSocket client reattaches and reads a complete answer when ${description} is killed`, async () => {
      const channel = `socket-${description.replaceAll(' ', '-')}`;
      const client = createClient({ url: product.url, token: product.token, transport: 'ws' });
      const events: ChatEvent[] = [];
      for await (const event of client.chat(QUESTION, { agentId: 'slow', sessionKey: channel })) {
        events.push(event);
        if (events.length === 1) await disturb();
      }
      client.close();
      let text = '';
      for (const event of events) {
        if (event.type === 'done') break;
        text = event.type === 'token' ? text + event.delta : event.accumulated;
        assert.equal(event.accumulated, text, 'nothing is missing, and nothing is twice');
      }
      const end = events.at(-1);
      assert.deepEqual([text, end?.type === 'done' && end.response], [RESPONSE, RESPONSE]);
      assert.deepEqual(await contentsOnceAvailable(channel), [QUESTION, RESPONSE], 'the question was asked once');
    });
  }

  /** A gateway that has just lost its bus answers UNAVAILABLE until it has verified tokens again. */
  async function contentsOnceAvailable(channel: string): Promise<string[]> {
    const client = createClient({ url: product.url, token: product.token });
    for (const deadline = Date.now() + PATIENCE_MS; ;) {
      try {
        return (await client.call('session.history', { channelId: channel })).messages.map(({ content }) => content);
      } catch (error) {
        if (!(error instanceof RpcError) || error.data.code !== 'UNAVAILABLE' || Date.now() > deadline) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  async function killOne(replica: string): Promise<void> {
    const one = await getProcess(product, replica);
    process.kill(one.pid, 'SIGKILL');
    await replaced(product, one);
  }

  /** The replica that runs the turn. */
  async function killAtOnce(replicas: readonly string[]): Promise<void> {
    const all = await Promise.all(replicas.map((replica) => getProcess(product, replica)));
    for (const { pid } of all) process.kill(pid, 'SIGKILL');
    for (const one of all) await replaced(product, one);
  }

  async function killAll(replicas: readonly string[]): Promise<void> {
    for (const replica of replicas) await killOne(replica);
  }

  /** Simulates a lost disk: the server restarts empty. */
  async function wipeNats(): Promise<void> {
    const nats = (await getProcesses(product)).find(({ service }) => service === 'nats') ?? assert.fail('there is no NATS');
    process.kill(nats.pid, 'SIGSTOP'); // it must neither write nor restart in between
    await rm(`${product.data}/cluster/nats`, { recursive: true });
    process.kill(nats.pid, 'SIGKILL');
  }

  /** Retries until the message is accepted, because processes are down. */
  async function sendMessage(message: string): Promise<void> {
    for (;;) {
      const params = { message, sessionKey: { channelId: 'said' }, idempotencyKey: `say-${message.replaceAll(' ', '-')}` };
      const answer = await sendRequest(product, 'agent.execute', params).catch(() => undefined);
      if (answer?.result !== undefined) return;
    }
  }
});

/** Asserts that chunks are contiguous, also where another process continued the turn. */
function assertWhole(receivedMessages: readonly Received[]): void {
  let text = '';
  let last = -1;
  for (const { id, name, data } of receivedMessages) {
    const n = Number(id.split(':')[1]);
    assert.ok(n > last, `${id} after ${last}`);
    last = n;
    if (name === 'token') text += String(data['delta']);
    if (name === 'resumed') text = String(data['accumulated']);
    if (name !== 'done') assert.equal(data['accumulated'], text, id);
  }
  assert.equal(text, RESPONSE);
}

interface Hearing extends Disposable {
  /** The messages in the events, in order. */
  readonly texts: readonly string[];
  /** The reasons of the received resets. */
  readonly resets: readonly string[];
  opened: Promise<unknown>;
  until(text: string): Promise<void>;
}

function listenToEvents({ url, token }: Running): Hearing {
  const said: string[] = [];
  const resets: string[] = [];
  let wake = Promise.withResolvers<void>();
  const source = new EventSource(`${url}/api/events?token=${token}`);
  source.addEventListener('message:received', ({ data }) => {
    said.push((JSON.parse(data as string) as { message: { text: string } }).message.text);
    wake.resolve();
  });
  source.addEventListener('stream:reset', ({ data }) => void resets.push((JSON.parse(data as string) as { reason: string }).reason));
  return {
    texts: said,
    resets,
    opened: new Promise((resolve) => source.addEventListener('open', resolve, { once: true })),
    async until(text) {
      while (!said.includes(text)) {
        await wake.promise;
        wake = Promise.withResolvers();
      }
    },
    [Symbol.dispose]: () => source.close(),
  };
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import OpenAI, { UnprocessableEntityError } from 'openai';
import { contents } from './clients.ts';
import { startDropping } from './dropping.ts';
import type { Profile, Running } from './embedded.ts';
import { getProcesses } from '../cluster/processes.ts';
import { onEachProfile } from './profiles.ts';

const TEXT = 'Hello from the model upstream.';
const SLOW = Array.from({ length: 20 }, (_, n) => `word${n}`).join(' ');

let upstream: Upstream;
let keys = 0;
const newKey = (): string => `key-${++keys}`;

async function start(stack: AsyncDisposableStack): Promise<{ config: object }> {
  upstream = stack.use(await startUpstream({ kind: 'text', text: TEXT }));
  const entries = { lab: { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'one' }] } };
  return { config: { providers: { entries }, models: { dev: true }, agents: { default: { provider: 'lab', model: 'one' } } } };
}

/** Requests to the model during the test, one per turn. */
async function askedDuring(work: () => Promise<unknown>): Promise<unknown[]> {
  const before = upstream.requests.length;
  await work();
  return upstream.requests.slice(before).map(({ body }) => (body.messages?.at(-1) as { content?: unknown } | undefined)?.content);
}

const createRequest = (content: string, model = 'default') => ({ model, messages: [{ role: 'user' as const, content }] });
const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } });

/** The openai package with its automatic retries. */
function openai(url: string, token: string, maxRetries = 3): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries });
}

/** A surface that sends a message and returns the agent's text. */
type Ask = (url: string, token: string, question: string, key: string) => Promise<unknown>;

async function post(url: string, { token, key, body }: { token: string; key: string; body: object }): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return response.json();
}

const rpc =
  (method: string, params: (question: string) => object): Ask =>
  (url, token, question, key) =>
    post(`${url}/rpc`, { token, key, body: { jsonrpc: '2.0', id: 1, method, params: params(question) } });

const ways: Record<string, Ask> = {
  'agent.execute': rpc('agent.execute', (message) => ({ message })),
  'agent.stream': rpc('agent.stream', (message) => ({ message })),
  'session.send': rpc('session.send', (message) => ({ key: 'default:sent:gateway', message })),
  'POST /api/chat': (url, token, message, key) => post(`${url}/api/chat`, { token, key, body: { message } }),
  'GET /api/chat/stream': async (url, token, message, key) => {
    const query = new URLSearchParams({ message, token, idempotencyKey: key }).toString();
    const response = await fetch(`${url}/api/chat/stream?${query}`);
    if (!response.ok) return response.json();
    const text = await response.text();
    return text.slice(text.indexOf('event: done'));
  },
  'POST /v1/chat/completions': (url, token, message, key) =>
    post(`${url}/v1/chat/completions`, { token, key, body: createRequest(message) }),
  'POST /v1/chat/completions, streamed': async (url, token, message, key) => {
    const stream = await openai(url, token, 0).chat.completions.create({ ...createRequest(message), stream: true }, keyed(key));
    const chunks = await Array.fromAsync(stream);
    return [chunks[0]?.id, chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')];
  },
};

/** The addresses of all gateways. */
async function gateways(product: Running, profile: Profile): Promise<string[]> {
  if (profile === 'embedded') return [product.url, product.url];
  const all = (await getProcesses(product)).filter(({ service }) => service === 'gateway');
  return all.map(({ ports }) => `http://127.0.0.1:${ports['http']}`);
}

onEachProfile(
  'idempotency keys',
  (product, profile) => {
    for (const [name, sendRequest] of Object.entries(ways)) {
      test(`${name}: a retry after a lost response gets the same answer of one turn`, async () => {
        await using proxy = await startDropping(product.url);
        const key = newKey();
        const turns = await askedDuring(async () => {
          proxy.drop(1);
          await assert.rejects(sendRequest(proxy.url, product.token, 'lost', key));
          const answer = await sendRequest(proxy.url, product.token, 'lost', key);
          assert.match(JSON.stringify(answer), /Hello from the model upstream\./);
          assert.deepEqual(await sendRequest(product.url, product.token, 'lost', key), answer);
        });
        assert.deepEqual(turns, ['lost']);
      });

      test(`${name}: concurrent requests with one key at two gateways are one turn`, async () => {
        const key = newKey();
        const turns = await askedDuring(async () => {
          const urls = (await gateways(product, profile)).flatMap((url) => [url, url]);
          const answers = await Promise.all(urls.map((url) => sendRequest(url, product.token, 'at once', key)));
          for (const answer of answers) assert.deepEqual(answer, answers[0]);
          assert.match(JSON.stringify(answers[0]), /Hello from the model upstream\./);
        });
        assert.deepEqual(turns, ['at once']);
      });

      test(`${name}: rejects another message with the same key`, async () => {
        const key = newKey();
        await sendRequest(product.url, product.token, 'this', key);
        const turns = await askedDuring(async () => {
          const refused = await sendRequest(product.url, product.token, 'that', key).catch((error: unknown) => error);
          if (refused instanceof UnprocessableEntityError) assert.match(refused.message, /used for another request/);
          else assert.match(JSON.stringify(refused), /"reason":"IDEMPOTENCY_MISMATCH"/);
        });
        assert.deepEqual(turns, []);
      });
    }

    for (const stream of [false, true]) {
      test(`an automatic retry of the openai package${stream ? ' of a stream' : ''} runs one turn`, async () => {
        await using proxy = await startDropping(product.url);
        const client = openai(proxy.url, product.token);
        const turns = await askedDuring(async () => {
          proxy.drop(2);
          if (stream) {
            const chunks = await Array.fromAsync(
              await client.chat.completions.create({ ...createRequest('once'), stream }, keyed(newKey())),
            );
            assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), TEXT);
            assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop');
          } else {
            const { choices } = await client.chat.completions.create(createRequest('once'), keyed(newKey()));
            assert.equal(choices[0]?.message.content, TEXT);
          }
        });
        assert.deepEqual(turns, ['once']);
        assert.equal(proxy.seen.length, 3, 'two answers were lost');
      });
    }

    test('without a key a retry of the openai package is a second turn', async () => {
      await using proxy = await startDropping(product.url);
      proxy.drop(1);
      const turns = await askedDuring(() => openai(proxy.url, product.token).chat.completions.create(createRequest('twice')));
      assert.deepEqual(turns, ['twice', 'twice']);
    });

    test('a retry after leaving a stream gets the same stream from its start, during and after the turn', async () => {
      const client = openai(product.url, product.token, 0);
      const key = newKey();
      const open = () => client.chat.completions.create({ ...createRequest(SLOW, 'dev/slow'), stream: true }, keyed(key)).withResponse();
      const first = await open();
      assert.equal(first.response.headers.get('idempotency-replayed'), null);
      let id = '';
      for await (const chunk of first.data) {
        id = chunk.id;
        if (chunk.choices[0]?.delta.content) break; // ends the connection
      }
      for (const when of ['while it runs', 'after its end']) {
        const { data, response } = await open();
        assert.equal(response.headers.get('idempotency-replayed'), 'true', when);
        const chunks = await Array.fromAsync(data);
        assert.deepEqual([...new Set(chunks.map((chunk) => chunk.id))], [id], when);
        const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
        assert.equal(text, `I am dev/slow, the development model. You said: ${SLOW}`, when);
        assert.deepEqual(chunks[0]?.choices[0]?.delta, { role: 'assistant' });
        assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop');
      }
    });

    test('a /v1 answer with a key is in no history', async () => {
      const client = openai(product.url, product.token, 0);
      await client.chat.completions.create(createRequest('not to be remembered'), keyed(newKey()));
      for (const channel of ['gateway', 'openai']) assert.ok(!(await contents(product, channel)).includes('not to be remembered'));
    });
  },
  { start },
);

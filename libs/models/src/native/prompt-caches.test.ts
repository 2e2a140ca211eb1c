import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NATIVE_WIRES, startNativeUpstream, type NativeReply, type NativeRequest } from '@switchyard/testkit';
import { KEY, open, request, run } from '../models.fixture.ts';
import { PromptCaches, type PromptCacheClient } from './prompt-caches.ts';

const LONG = 'Be brief. '.repeat(2_000);
const WISH = { geminiCache: { enabled: true, maxActiveCaches: 2 } };
const MODEL = { provider: 'up', modelId: 'one' };

/** Renders a request body with the given instructions, as the SDK does. */
function getBody(instructions: string): string {
  const systemInstruction = { parts: [{ text: instructions }] };
  return JSON.stringify({ systemInstruction, tools: [], contents: [{ role: 'user', parts: [{ text: 'hi' }] }] });
}

function keeping({ refuses = false } = {}) {
  const [created, removed]: [string[], string[]] = [[], []];
  const keeper: PromptCacheClient = {
    async create(_, ttlMs) {
      if (refuses) throw new Error('no');
      created.push(`cachedContents/${created.length} for ${ttlMs}`);
      return `cachedContents/${created.length - 1}`;
    },
    remove: async (name) => void removed.push(name),
  };
  let now = 0;
  const caches = new PromptCaches(keeper, () => now);
  const sendRequest = async (instructions: string, preferences: object = WISH) => {
    const { body, onMissing } = caches.apply(getBody(instructions), { model: MODEL, preferences: preferences });
    await new Promise((resolve) => setImmediate(resolve));
    return { name: (JSON.parse(body) as { cachedContent?: string }).cachedContent, body, onMissing };
  };
  return { asks: sendRequest, created, removed, wait: (ms: number) => (now += ms) };
}

test('sends the complete prompt first and the cache name afterwards', async () => {
  const { asks, created } = keeping();
  assert.equal((await asks(LONG)).body, getBody(LONG));
  const { body } = await asks(LONG);
  assert.deepEqual(JSON.parse(body), { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], cachedContent: 'cachedContents/0' });
  assert.deepEqual(created, ['cachedContents/0 for 300000']);
});

test('does not cache short prompts or without the preference', async () => {
  const { asks, created } = keeping();
  for (const [text, wish] of [
    ['Be brief.', WISH],
    [LONG, {}],
    [LONG, { geminiCache: { enabled: false, maxActiveCaches: 2 } }],
  ] as const) {
    await asks(text, wish);
    assert.equal((await asks(text, wish)).name, undefined);
  }
  assert.deepEqual(created, []);
});

test('evicts the least recently used cache above maxActiveCaches', async () => {
  const { asks, removed } = keeping();
  const all = ['a', 'b', 'c'].map((name) => name + LONG);
  for (const one of all.slice(0, 2)) await asks(one);
  await asks(all[0] ?? '');
  await asks(all[2] ?? '');
  assert.deepEqual(removed, ['cachedContents/1']);
  assert.deepEqual([(await asks(all[0] ?? '')).name, (await asks(all[2] ?? '')).name], ['cachedContents/0', 'cachedContents/2']);
});

test('does not use a cache shortly before its expiry and creates it again', async () => {
  const { asks, created, wait } = keeping();
  await asks(LONG, { ...WISH, cacheRetention: 'long' });
  wait(3_600_000 - 30_000);
  assert.equal((await asks(LONG)).name, undefined);
  assert.equal((await asks(LONG)).name, 'cachedContents/1');
  assert.deepEqual(created, ['cachedContents/0 for 3600000', 'cachedContents/1 for 300000']);
});

test('delays the retry of a rejected cache and recreates a missing one', async () => {
  const refusing = keeping({ refuses: true });
  for (let n = 0; n < 3; n++) assert.equal((await refusing.asks(LONG)).name, undefined);
  const { asks, created } = keeping();
  await asks(LONG);
  (await asks(LONG)).onMissing?.();
  assert.equal((await asks(LONG)).name, undefined);
  assert.equal(created.length, 2);
});

test('retries a turn with the complete prompt when its cache is missing', async () => {
  const { events } = NATIVE_WIRES.google;
  const kept = Promise.withResolvers<void>();
  const json = { 'content-type': 'application/json' };
  let isGone = false;
  const reply = ({ path, body }: NativeRequest): NativeReply => {
    if (path === '/v1/cachedContents') {
      setImmediate(kept.resolve);
      return { headers: json, writes: [JSON.stringify({ name: 'cachedContents/abc' })] };
    }
    if (isGone && body['cachedContent'] !== undefined)
      return { status: 403, headers: json, writes: ['{"error":{"message":"CachedContent not found"}}'] };
    return { writes: events({ says: [{ text: 'ok' }] }) };
  };
  await using upstream = await startNativeUpstream(reply);
  const up = { type: 'google', baseUrl: upstream.url, apiKeyName: 'UP_KEY' };
  const models = open({ entries: { up }, secret: async () => KEY });
  const ask = async () => {
    const { parts, error } = await run(models, request({ model: MODEL, system: LONG, preferences: WISH }));
    assert.equal(error, undefined);
    assert.deepEqual(parts[0], { type: 'text', text: 'ok' });
  };
  const named = () => upstream.requests.filter(({ path }) => path.includes(':stream')).map(({ body }) => body['cachedContent']);
  await ask();
  await kept.promise;
  while (named().at(-1) === undefined) await ask(); // the answer is on its way
  assert.equal(named().at(-1), 'cachedContents/abc');
  assert.equal(upstream.requests.at(-1)?.body['systemInstruction'], undefined);
  const made = upstream.requests.find(({ path }) => path === '/v1/cachedContents');
  assert.deepEqual([made?.body['model'], made?.body['ttl'], made?.headers['x-goog-api-key']], ['models/one', '300s', KEY]);
  isGone = true;
  await ask();
  assert.deepEqual(named().slice(-2), ['cachedContents/abc', undefined]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream, type Upstream, type UpstreamBehaviour } from '@switchyard/testkit';
import { APIError } from 'openai';
import { openai, rest } from './clients.ts';
import { surfaceNames, surfaces, type SurfaceName, type Outcome, type RpcFailure } from './surfaces.ts';
import { linesWritten, type Running } from './embedded.ts';
import { call } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

const TEXT = 'Hello from the model upstream.';
const KEY = 'sk-a-key-of-an-upstream-that-nobody-else-may-see';
const PROMPT_TIMEOUT_MS = 400;
const RETRY_AFTER_MS = 1_000;
/** Well below any other timeout that would end the request. */
const LEAVING_MS = 15_000;

const entry = ({ url }: Upstream): object => ({ type: 'openai-compatible', baseUrl: url, models: [{ id: 'one' }] });
// Models fail on purpose here, so retries must be short.
const PATIENT = { circuitBreaker: { failureThreshold: 1_000 }, sdkRetry: { baseDelayMs: 50 } };
const agent = (provider: string, more: object = {}): object => ({ provider, model: 'one', ...PATIENT, ...more });

let upstream: Upstream;
let idle: Upstream[] = [];

async function start(stack: AsyncDisposableStack): Promise<{ config: object }> {
  upstream = stack.use(await startUpstream());
  const stalled: UpstreamBehaviour = { kind: 'stall', text: TEXT, afterTokens: 2 };
  idle = [stack.use(await startUpstream(stalled)), stack.use(await startUpstream(stalled))];
  const entries = { lab: entry(upstream), ...Object.fromEntries(idle.map((one, at) => [`idle${at}`, entry(one)])) };
  const agents = {
    default: agent('lab'),
    hasty: agent('lab', { promptTimeout: { promptTimeoutMs: PROMPT_TIMEOUT_MS } }),
    idle0: agent('idle0'),
    idle1: agent('idle1'),
  };
  return { config: { providers: { entries }, agents } };
}

onEachProfile(
  'an upstream of providers.entries',
  (product) => {
    test('answers on all surfaces', async () => {
      upstream.respond({ kind: 'text', text: TEXT });
      for (const name of surfaceNames) assert.equal((await sendRequest(product, name)).response, TEXT, name);
      const { path, body } = upstream.requests.at(-1) ?? assert.fail();
      assert.deepEqual([path, body.model, body.stream], ['/v1/chat/completions', 'one', true]);
      assert.deepEqual(body.messages, [{ role: 'user', content: 'hello' }]);
    });

    test('reports the upstream’s token counts', async () => {
      upstream.respond({ kind: 'text', text: TEXT, usage: { prompt: 11, completion: 5 } });
      const { tokensUsed } = await call<{ tokensUsed: object }>(product, 'agent.execute', { message: 'hello' });
      assert.deepEqual(tokensUsed, { input: 11, output: 5, total: 16 });
      const { usage } = await openai(product).chat.completions.create({ model: 'lab/one', messages: [{ role: 'user', content: 'hello' }] });
      assert.deepEqual(usage, { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 });
    });

    test('calls a tool on all surfaces, reads its result, answers', async () => {
      upstream.respond({ kind: 'text', text: 'Noted.' });
      await call(product, 'agent.execute', { message: 'the word is sesame', sessionKey: { channelId: 'told' } });
      for (const name of surfaceNames) {
        const calls = [{ name: 'session_history', arguments: { channelId: 'told' } }];
        upstream.respond({ kind: 'tools', calls, text: 'Let me look. ' }, { kind: 'text', text: TEXT });
        const { response = '' } = await sendRequest(product, name);
        assert.ok(response.endsWith(TEXT), `${name}: ${response}`);
        const [first, second] = upstream.requests.slice(-2).map(({ body }) => body);
        assert.ok(first && second);
        const tools = first.tools as { function: { name: string; parameters: object } }[];
        assert.ok(tools.some((tool) => tool.function.name === 'session_history'));
        const told = (second.messages as { role: string; content: string }[]).at(-1);
        assert.equal(told?.role, 'tool');
        assert.match(told.content, /the word is sesame.*Noted\./s, name);
      }
    });

    test('retries a rate-limited upstream after its Retry-After', async () => {
      upstream.respond(
        { kind: 'status', status: 429, headers: { 'retry-after': String(RETRY_AFTER_MS / 1_000) } },
        { kind: 'text', text: TEXT },
      );
      const started = performance.now();
      const before = upstream.requests.length;
      assert.equal((await sendRequest(product, 'rpc')).response, TEXT);
      assert.ok(performance.now() - started >= 0.9 * RETRY_AFTER_MS);
      assert.equal(upstream.requests.length - before, 2);
    });

    test('retries an upstream that fails once', async () => {
      for (const name of ['rpc', 'sse', 'v1 streamed'] as const) {
        upstream.respond({ kind: 'status', status: 500 }, { kind: 'text', text: TEXT });
        assert.equal((await sendRequest(product, name)).response, TEXT, name);
      }
    });

    test('reports an error on every surface after three failed attempts', async () => {
      upstream.respond({ kind: 'status', status: 500, message: 'out of order' });
      const before = upstream.requests.length;
      await Promise.all(surfaceNames.map(async (name) => assertUnavailable(name, await sendRequest(product, name))));
      assert.equal(upstream.requests.length - before, 3 * surfaceNames.length);
    });

    for (const [mode, behaviour] of [
      ['cuts its stream', { kind: 'cut', text: TEXT, afterTokens: 3 }],
      ['ends its stream early', { kind: 'unfinished', text: 'Hello from the ' }],
      ['says so in its stream', { kind: 'frame-error', text: 'Hello from the ', error: { message: 'overloaded', code: 500 } }],
    ] as const) {
      test(`reports an error on every surface when the upstream ${mode} in the middle`, async () => {
        upstream.respond(behaviour);
        await Promise.all(
          surfaceNames.map(async (name) => {
            const outcome = await sendRequest(product, name);
            assertUnavailable(name, outcome);
            if (name === 'sse' || name.endsWith('streamed')) assert.equal(outcome.written, 'Hello from the ');
          }),
        );
      });
    }

    test('a connection lost after the first token ends the stream with an error and [DONE]', async () => {
      upstream.respond({ kind: 'cut', text: TEXT, afterTokens: 3 });
      const frames = await completionFrames(product, 'default');
      assert.equal(frames.at(-1), '[DONE]');
      const { error } = JSON.parse(frames.at(-2) ?? '') as { error: { type: string; message: string } };
      assert.equal(error.type, 'server_error');
      assert.ok(frames.slice(0, -2).every((frame) => frame.includes('"finish_reason":null')));
    });

    for (const afterTokens of [0, 2]) {
      test(`reports an error on every surface when the upstream stalls after ${afterTokens} tokens`, async () => {
        upstream.respond({ kind: 'stall', text: TEXT, afterTokens });
        await Promise.all(surfaceNames.map(async (name) => assertFailure(name, await sendRequest(product, name, 'hasty'), SILENT)));
      });
    }

    test('cancels the upstream request when the client of a /v1 stream disconnects', { timeout: LEAVING_MS }, async () => {
      const stream = await openai(product).chat.completions.create({
        model: 'idle0',
        messages: [{ role: 'user', content: 'hello' }],
        stream: true,
      });
      for await (const { choices } of stream) if (choices[0]?.delta.content) break; // leaving the loop closes the connection
      await idle[0]?.abandoned;
    });

    test('cancels the upstream request when the client of a /v1 request disconnects', { timeout: LEAVING_MS }, async () => {
      const leaving = new AbortController();
      const asking = openai(product).chat.completions.create(
        { model: 'idle1', messages: [{ role: 'user', content: 'hello' }] },
        { signal: leaving.signal },
      );
      while (idle[1]?.requests.length === 0) await rest(product, '/v1/models');
      leaving.abort();
      await assert.rejects(asking);
      await idle[1]?.abandoned;
    });
  },
  { start },
);

onEachProfile(
  'an upstream of OPENAI_API_KEY and OPENAI_BASE_URL',
  (product) => {
    test('answers on all surfaces, with the key, instead of the development models', async () => {
      upstream.respond({ kind: 'text', text: TEXT });
      for (const name of surfaceNames) {
        assert.equal((await sendRequest(product, name)).response, TEXT, name);
        assert.equal(upstream.requests.at(-1)?.headers.authorization, `Bearer ${KEY}`);
      }
      const { body } = await rest(product, '/v1/models');
      const ids = (body['data'] as { id: string }[]).map(({ id }) => id);
      assert.deepEqual(ids, ['default', `openai/${upstream.requests.at(-1)?.body.model}`]);
      assert.equal((await sendRequest(product, 'v1', 'dev/echo')).failure instanceof APIError, true);
    });

    test('is named by the banner, and its key by nobody', async () => {
      assert.match(product.process.output(), /provider +openai\//);
      upstream.respond({ kind: 'status', status: 401, message: `Incorrect API key provided: ${KEY}` });
      for (const name of surfaceNames) {
        const { failure } = await sendRequest(product, name);
        const said = failure instanceof APIError ? JSON.stringify([failure.message, failure.error]) : JSON.stringify(failure);
        assert.match(said, /OPENAI_API_KEY/, name);
        assert.ok(!said.includes(KEY), said);
      }
      const written = [...(await linesWritten(product)), product.process.output()];
      assert.ok(!written.some((line) => line.includes(KEY)));
    });
  },
  {
    async start(stack) {
      upstream = stack.use(await startUpstream());
      return { env: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: upstream.url }, config: { agents: { default: PATIENT } } };
    },
  },
);

function sendRequest(product: Running, surface: SurfaceName, to = 'default'): Promise<Outcome> {
  return surfaces[surface](product, { message: 'hello', agent: to });
}

const UNAVAILABLE = { code: 'UNAVAILABLE', status: 503 };
const SILENT = { code: 'DEADLINE_EXCEEDED', status: 504 };

function assertUnavailable(surface: SurfaceName, outcome: Outcome): void {
  assertFailure(surface, outcome, UNAVAILABLE);
}

/** An error in the form of the surface. */
function assertFailure(surface: SurfaceName, { response, failure, written = '' }: Outcome, { code, status }: typeof UNAVAILABLE): void {
  assert.ok(failure !== undefined, `${surface} answered ${response}`);
  switch (surface) {
    case 'rpc':
    case 'ws': {
      const error = failure as RpcFailure;
      return assert.deepEqual([error.code, error.data?.['code']], [-32603, code], surface);
    }
    case 'chat':
      return assert.equal((failure as { status: number }).status, status);
    case 'sse':
      return assert.equal((failure as { code: string }).code, code);
    case 'responses streamed':
      return assert.equal((failure as { code: string }).code, 'server_error');
    default:
      assert.ok(failure instanceof APIError, surface);
      assert.equal((failure.error as { type: string }).type, 'server_error', surface);
      // once a stream has begun, its status has been sent
      return assert.equal(failure.status, written === '' ? status : undefined, surface);
  }
}

/** The data of each frame of a streamed completion. */
async function completionFrames({ url, token }: Running, model: string): Promise<string[]> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], stream: true }),
  });
  assert.equal(response.status, 200);
  const frames = (await response.text()).split('\n\n').filter((frame) => frame.startsWith('data: '));
  return frames.map((frame) => frame.slice('data: '.length));
}

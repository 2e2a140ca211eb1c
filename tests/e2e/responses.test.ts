import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import OpenAI, { APIError } from 'openai';
import type { InputItemListParams } from 'openai/resources/responses/input-items';
import type { Response, ResponseInput, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { openai } from './clients.ts';
import { startEmbedded, type Running } from './embedded.ts';
import { call } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

const UNKNOWN = { status: 404, message: 'Response not found', type: 'not_found_error', param: 'response_id', code: null };

/** Fields that every response has, possibly null. */
const FIELDS =
  'id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key'
    .split(' ')
    .toSorted();
const RESPONSE = 'I am dev/echo, the development model. You said: ';
const WEATHER = {
  type: 'function' as const,
  name: 'weather',
  description: null,
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: false,
};
const user = (content: string) => ({ role: 'user' as const, content });
const slow = (words: number) => ({ model: 'dev/slow', input: Array.from({ length: words }, (_, at) => `w${at}`).join(' ') });

function assertResource(response: Response): void {
  const { output_text: _, _request_id: __, ...fields } = response as Response & { _request_id?: string };
  assert.deepEqual(Object.keys(fields).toSorted(), FIELDS);
}

function assertGapless(events: readonly ResponseStreamEvent[], from = 0): void {
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, at) => from + at),
  );
}

async function refusal(
  pending: Promise<unknown>,
): Promise<{ status: number | undefined; message: string; type: string; param: string | null }> {
  try {
    await pending;
  } catch (error) {
    assert.ok(error instanceof APIError, String(error));
    return { status: error.status, ...(error.error as { message: string; type: string; param: string | null }) };
  }
  return assert.fail('it answered');
}

/** Polls until the response has ended. */
async function ended(client: OpenAI, id: string): Promise<Response> {
  for (;;) {
    const response = await client.responses.retrieve(id);
    if (response.status !== 'in_progress') return response;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
}

async function clientWith(product: Running, more: object): Promise<OpenAI> {
  const { secret } = await call<{ secret: string }>(product, 'tokens.create', { scopes: ['api'], ...more });
  return new OpenAI({ baseURL: `${product.url}/v1`, apiKey: secret, maxRetries: 0 });
}

onEachProfile(
  'responses',
  (product) => {
    test('returns a non-streaming response, stored or not', async () => {
      for (const store of [true, false]) {
        const response = await openai(product).responses.create({ model: 'dev/echo', input: 'hello', store, metadata: { a: 'b' } });
        assertResource(response);
        const { status, output_text: text, output, usage, metadata, error, completed_at: at, created_at: from } = response;
        assert.deepEqual([status, text, metadata, error], ['completed', `${RESPONSE}hello`, { a: 'b' }, null]);
        assert.ok(from <= (at ?? 0) && Math.abs(from - Date.now() / 1_000) < 60);
        assert.deepEqual(
          output.map(({ type }) => type),
          ['message'],
        );
        assert.equal(usage?.total_tokens, (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0));
        const again = openai(product).responses.retrieve(response.id);
        if (store) assert.deepEqual({ ...(await again), completed_at: at }, response);
        else assert.deepEqual(await refusal(again), UNKNOWN);
      }
    });

    test('streams events in order, numbered without gaps, each in one write', async () => {
      for (const store of [true, false]) {
        const stream = await openai(product).responses.create({ model: 'dev/echo', input: 'hello', store, stream: true });
        const events = await Array.fromAsync(stream);
        assertGapless(events);
        const types = events.map(({ type }) => type);
        const deltas = types.filter((type) => type === 'response.output_text.delta');
        assert.ok(deltas.length > 1);
        assert.deepEqual(types, [
          'response.created',
          'response.in_progress',
          'response.output_item.added',
          'response.content_part.added',
          ...deltas,
          'response.output_text.done',
          'response.content_part.done',
          'response.output_item.done',
          'response.completed',
        ]);
        const last = events.at(-1);
        assert.ok(last?.type === 'response.completed');
        assertResource(last.response);
        const final = await openai(product).responses.stream({ model: 'dev/echo', input: 'hello', store }).finalResponse();
        assert.equal(final.output_text, `${RESPONSE}hello`);
      }
    });

    test('the stream has event names and ends with [DONE]', async () => {
      const response = await fetch(`${product.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${product.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'dev/echo', input: 'hi', stream: true }),
      });
      assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
      const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '');
      assert.equal(frames.pop(), 'data: [DONE]');
      for (const frame of frames) {
        const [, name, data = ''] = /^event: (.+)\ndata: (.+)$/.exec(frame) ?? assert.fail(frame);
        assert.equal((JSON.parse(data) as { type: string }).type, name);
      }
    });

    test('previous_response_id continues a response repeatedly, without its instructions', async () => {
      const client = openai(product);
      const model = 'dev/tools';
      const tools = [WEATHER];
      const request = await client.responses.create({ model, tools, input: 'weather {"city":"Oslo"}', instructions: 'be brief' });
      const [called] = request.output;
      assert.ok(called?.type === 'function_call');
      assert.deepEqual([called.name, JSON.parse(called.arguments), request.status], ['weather', { city: 'Oslo' }, 'completed']);
      for (const output of ['rain', 'snow']) {
        const input: ResponseInput = [{ type: 'function_call_output', call_id: called.call_id, output }];
        const next: Response = await client.responses.create({ model, tools, input, previous_response_id: request.id });
        assert.match(next.output_text, new RegExp(`weather answered: ${output}`));
        assert.deepEqual([next.previous_response_id, next.instructions], [request.id, null]);
      }
    });

    test('streams calls of the caller’s tools as separate items', async () => {
      const asked = { model: 'dev/tools', tools: [WEATHER], input: 'weather {"city":"Oslo"}' };
      const stream = await openai(product).responses.create({ ...asked, stream: true });
      const events = await Array.fromAsync(stream);
      assertGapless(events);
      assert.deepEqual(
        events.map(({ type }) => type),
        [
          'response.created',
          'response.in_progress',
          'response.output_item.added',
          'response.function_call_arguments.delta',
          'response.function_call_arguments.done',
          'response.output_item.done',
          'response.completed',
        ],
      );
      const final = await openai(product).responses.stream(asked).finalResponse();
      assert.deepEqual(
        final.output.map(({ type }) => type),
        ['function_call'],
      );
    });

    test('a background response exists at once, continues alone, and can be streamed from any position', async () => {
      const client = openai(product);
      const begun = await client.responses.create({ ...slow(20), background: true });
      assertResource(begun);
      assert.deepEqual([begun.status, begun.background, begun.output], ['in_progress', true, []]);
      const live = await Array.fromAsync(await client.responses.retrieve(begun.id, { stream: true }));
      assertGapless(live);
      assert.equal(live.at(-1)?.type, 'response.completed');
      const { status, output_text: text } = await ended(client, begun.id);
      assert.deepEqual([status, text.endsWith('w19')], ['completed', true]);
      const again = await Array.fromAsync(await client.responses.retrieve(begun.id, { stream: true }));
      assert.deepEqual(withoutTimes(again), withoutTimes(live), 'told again, it is told the same way');
      for (const after of [0, 7, live.length - 2]) {
        const rest = await Array.fromAsync(await client.responses.retrieve(begun.id, { stream: true, starting_after: after }));
        assert.deepEqual(withoutTimes(rest), withoutTimes(live.slice(after + 1)));
      }
    });

    test('a response continues after its reader leaves, and a returning reader misses nothing', async () => {
      const client = openai(product);
      const seen: ResponseStreamEvent[] = [];
      for await (const event of await client.responses.create({ ...slow(20), stream: true })) if (seen.push(event) > 8) break;
      const [created] = seen;
      assert.ok(created?.type === 'response.created');
      const { sequence_number: after } = seen.at(-1) ?? assert.fail();
      const rest = await Array.fromAsync(await client.responses.retrieve(created.response.id, { stream: true, starting_after: after }));
      assertGapless([...seen, ...rest]);
      const text = [...seen, ...rest].map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
      const last = rest.at(-1);
      assert.ok(last?.type === 'response.completed');
      assert.equal(text, (await client.responses.retrieve(created.response.id)).output_text);
    });

    test('a cancelled response ends, and its readers are notified', async () => {
      const client = openai(product);
      const begun = await client.responses.create({ ...slow(400), background: true });
      const reading = Array.fromAsync(await client.responses.retrieve(begun.id, { stream: true }));
      const cancelled = await client.responses.cancel(begun.id);
      assertResource(cancelled);
      assert.equal(cancelled.status, 'cancelled');
      const last = (await reading).at(-1);
      assert.ok(last?.type === 'response.incomplete');
      assert.equal(last.response.status, 'cancelled');
      assertGapless(await reading);
      assert.equal((await client.responses.cancel(begun.id)).status, 'cancelled');
      assert.equal((await client.responses.retrieve(begun.id)).status, 'cancelled');
    });

    test('lists input items in pages in both orders, including earlier responses', async () => {
      const client = openai(product);
      const first = await client.responses.create({ model: 'dev/echo', input: [{ role: 'developer', content: 'be kind' }, user('one')] });
      const second = await client.responses.create({ model: 'dev/echo', input: 'two', previous_response_id: first.id });
      const listed = async (query: InputItemListParams) => Array.fromAsync(client.responses.inputItems.list(second.id, query));
      const all = await listed({ order: 'asc' });
      const told = all.map(
        (item) => item.type === 'message' && `${item.role}: ${item.content.map((part) => 'text' in part && part.text).join()}`,
      );
      assert.deepEqual(told, ['system: be kind', 'user: one', `assistant: ${RESPONSE}one`, 'user: two']);
      assert.deepEqual(await listed({}), all.toReversed());
      assert.deepEqual(await listed({ limit: 1 }), all.toReversed(), 'page after page');
      const page = await client.responses.inputItems.list(second.id, { order: 'asc', limit: 2, after: all[0]?.id ?? assert.fail() });
      assert.deepEqual([page.data, page.has_more], [all.slice(1, 3), true]);
      const { status, param } = await refusal(listed({ after: 'msg_none' }));
      assert.deepEqual([status, param], [400, 'after']);
    });

    test('accepts item references to answers, calls and inputs', async () => {
      const client = openai(product);
      const asked = await client.responses.create({ model: 'dev/tools', tools: [WEATHER], input: 'weather {"city":"Oslo"}' });
      const [called] = asked.output;
      assert.ok(called?.type === 'function_call' && called.id);
      const output = { type: 'function_call_output' as const, call_id: called.call_id, output: 'rain' };
      const reference = (id: string | undefined) => ({ type: 'item_reference' as const, id: id ?? assert.fail() });
      const [question] = (await client.responses.inputItems.list(asked.id)).data;
      const input = [reference(question?.id), reference(called.id), output];
      const answered = await client.responses.create({ model: 'dev/tools', tools: [WEATHER], input });
      assert.match(answered.output_text, /weather answered: rain/);
      const next = await client.responses.create({ model: 'dev/echo', input: [{ id: answered.output[0]?.id ?? '' }, user('so')] });
      const [, before] = (await client.responses.inputItems.list(next.id)).data;
      assert.ok(before?.type === 'message' && before.role === 'assistant');
      assert.deepEqual(before.content[0], { type: 'output_text', text: answered.output_text, annotations: [], logprobs: [] });
    });

    test('rejects references to unknown items and to those of other clients', async () => {
      const client = openai(product);
      const stored = await client.responses.create({ model: 'dev/echo', input: 'secret' });
      const unstored = await client.responses.create({ model: 'dev/echo', input: 'secret', store: false });
      const other = await clientWith(product, { id: 'who-refers' });
      const [there, never] = [stored, unstored].map(({ output }) => output[0]?.id ?? assert.fail());
      const beyond = there?.replace('msg_', 'fc_').concat('_0');
      for (const [by, id] of [
        [client, never],
        [client, beyond],
        [client, 'rs_1'],
        [client, 'msg_x'],
        [other, there],
      ] as const) {
        const asked = by.responses.create({ model: 'dev/echo', input: [{ type: 'item_reference', id: id ?? '' }, user('go on')] });
        const { status, param, message } = await refusal(asked);
        assert.deepEqual([status, param], [400, 'input'], id);
        assert.match(message, /expected references to stored items/);
      }
    });

    test('a deleted response cannot be continued', async () => {
      const client = openai(product);
      const { id } = await client.responses.create({ model: 'dev/echo', input: 'hello' });
      const deleted = await fetch(`${product.url}/v1/responses/${id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${product.token}` },
      });
      assert.deepEqual(await deleted.json(), { id, object: 'response', deleted: true });
      for (const what of ['retrieve', 'delete', 'cancel'] as const)
        assert.deepEqual(await refusal(client.responses[what](id)), UNKNOWN, what);
      const { status, param } = await refusal(client.responses.create({ model: 'dev/echo', input: 'x', previous_response_id: id }));
      assert.deepEqual([status, param], [400, 'previous_response_id']);
    });

    test('a response is visible to its own client only', async () => {
      const { id } = await openai(product).responses.create({ model: 'dev/echo', input: 'secret' });
      const other = await clientWith(product, { id: 'other-client' });
      for (const what of ['retrieve', 'delete', 'cancel'] as const)
        assert.deepEqual(await refusal(other.responses[what](id)), UNKNOWN, what);
      assert.deepEqual(await refusal(other.responses.inputItems.list(id)), UNKNOWN);
      assert.equal((await refusal(other.responses.create({ model: 'dev/echo', input: 'x', previous_response_id: id }))).status, 400);
      assert.equal((await openai(product).responses.retrieve(id)).status, 'completed');
    });

    test('a failure before the first token is a status code, and a later one is the last event', async () => {
      const script = (...steps: object[]) => ({ model: 'dev/scripted', input: JSON.stringify(steps) });
      const error = { error: { status: 503, message: 'away' } };
      for (const store of [true, false]) {
        const client = openai(product);
        const { status, type } = await refusal(client.responses.create({ ...script({ error: { status: 400, message: 'no' } }), store }));
        assert.deepEqual([status, type], [400, 'invalid_request_error']);
        const events = await Array.fromAsync(
          await client.responses.create({ ...script({ text: 'some words' }, error), store, stream: true }),
        );
        assertGapless(events);
        const last = events.at(-1);
        assert.ok(last?.type === 'response.failed', JSON.stringify(last));
        assertResource(last.response);
        assert.deepEqual([last.response.status, last.response.error?.code], ['failed', 'server_error']);
        if (!store) continue;
        const kept = await client.responses.retrieve(last.response.id);
        assert.deepEqual([kept.status, kept.output, kept.error], ['failed', last.response.output, last.response.error]);
        assert.equal(kept.output_text, 'some words');
        const again = await Array.fromAsync(await client.responses.retrieve(last.response.id, { stream: true }));
        assert.deepEqual(withoutTimes(again), withoutTimes(events));
      }
    });

    test('requests with one Idempotency-Key are one response', async () => {
      const client = openai(product);
      const options = { headers: { 'idempotency-key': 'one-response' } };
      const ids = await Promise.all(
        Array.from({ length: 4 }, async () => (await client.responses.create({ model: 'dev/echo', input: 'hello' }, options)).id),
      );
      assert.equal(new Set(ids).size, 1);
      assert.equal((await refusal(client.responses.create({ model: 'dev/echo', input: 'else' }, options))).status, 422);
    });
  },
  { shareCluster: true },
);

test('reruns a response whose process was killed', async () => {
  await using data = await tempDir();
  let id: string;
  {
    await using first = await startEmbedded({ data: data.path });
    ({ id } = await openai(first).responses.create({ ...slow(30), background: true }));
    await first.process.end('SIGKILL');
  }
  await using second = await startEmbedded({ data: data.path });
  const { status, output_text: text } = await ended(openai(second), id);
  assert.deepEqual([status, text.endsWith('w29')], ['completed', true]);
});

/** Removes completion times, which differ by up to a second between reads. */
function withoutTimes(events: readonly ResponseStreamEvent[]): unknown[] {
  return events.map((event) => ('response' in event ? { ...event, response: { ...event.response, completed_at: 0 } } : event));
}

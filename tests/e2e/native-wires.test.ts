import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NATIVE_WIRES, startNativeUpstream, type NativeAnswer, type NativeRequest, type NativeUpstream } from '@switchyard/testkit';
import type { OpenAI } from 'openai';
import { openai } from './clients.ts';
import { startEmbedded, type Running } from './embedded.ts';
import { call } from './exchange.ts';

const MODEL = 'house/one';
const THOUGHT = 'Alice must not be late.';
const SIGNATURES = ['c2lnbmVk', 'Y2FsbGVk'] as const;
const ASKS_FOR_A_TOOL: NativeAnswer = {
  says: [
    { thought: THOUGHT, signature: SIGNATURES[0] },
    { call: { id: 'find_1', name: 'find', input: ['{"q":"train"}'] }, signature: SIGNATURES[1] },
  ],
};
const TOOLS = [{ type: 'function' as const, function: { name: 'find', parameters: { type: 'object', properties: {} } } }];

for (const wire of ['anthropic', 'google'] as const)
  describe(`a model of ${wire}, in its own wire`, () => {
    const { events } = NATIVE_WIRES[wire];
    let stack: AsyncDisposableStack;
    let product: Running;
    let upstream: NativeUpstream;

    /** Calls a tool once when Alice asks. */
    function reply({ body }: NativeRequest) {
      const question = JSON.stringify(body);
      const calls = question.includes('I am Alice') && !/tool_result|functionResponse/.test(question);
      return { writes: events(calls ? ASKS_FOR_A_TOOL : { says: [{ text: 'All ' }, { text: 'is well.' }] }) };
    }

    before(async () => {
      await using starting = new AsyncDisposableStack();
      upstream = starting.use(await startNativeUpstream(reply));
      const entries = { house: { type: wire, baseUrl: upstream.url, models: [{ id: 'one', reasoning: true }] } };
      const agents = { default: { provider: 'house', model: 'one', thinkingLevel: 'high' } };
      product = starting.use(await startEmbedded({ config: { providers: { entries }, agents } }));
      stack = starting.move();
    });

    after(() => stack?.disposeAsync());

    test('models.test, and chat completions with and without streaming', async () => {
      const { ok } = await call<{ ok: boolean }>(product, 'models.test', { model: MODEL });
      assert.equal(ok, true);
      const { chat } = openai(product);
      const messages = [{ role: 'user' as const, content: 'hello' }];
      const whole = await chat.completions.create({ model: MODEL, messages });
      assert.equal(whole.choices[0]?.message.content, 'All is well.');
      let streamed = '';
      for await (const { choices } of await chat.completions.create({ model: MODEL, messages, stream: true }))
        streamed += choices[0]?.delta.content ?? '';
      assert.equal(streamed, 'All is well.');
    });

    async function getClient(id: string, more: object = {}): Promise<OpenAI> {
      const { secret } = await call<{ secret: string }>(product, 'tokens.create', { id, scopes: ['api'], lenient: true, ...more });
      return openai({ ...product, token: secret });
    }

    /** The upstream request when a client sends the result of a call. */
    async function told(client: OpenAI, said: string, callId: string): Promise<string> {
      const made = { id: callId, type: 'function' as const, function: { name: 'find', arguments: '{"q":"train"}' } };
      await client.chat.completions.create({
        model: MODEL,
        tools: TOOLS,
        messages: [
          { role: 'user', content: said },
          { role: 'assistant', content: '', tool_calls: [made] },
          { role: 'tool', tool_call_id: callId, content: 'at nine' },
        ],
      });
      return JSON.stringify(upstream.requests.at(-1)?.body);
    }

    test('resends reasoning before a call to its own client only', async () => {
      const [alice, bob, carol] = [await getClient('alice'), await getClient('bob', { tenant: 'bobs' }), await getClient('carol')];
      const asked = await alice.chat.completions.create({
        model: MODEL,
        tools: TOOLS,
        messages: [{ role: 'user', content: 'I am Alice' }],
      });
      const callId = asked.choices[0]?.message.tool_calls?.[0]?.id ?? assert.fail();
      const thoughts = new RegExp([THOUGHT, ...SIGNATURES].join('|'));

      assert.doesNotMatch(await told(bob, 'I am Alice', callId), thoughts, 'another tenant');
      assert.doesNotMatch(await told(carol, 'I am Alice', callId), thoughts, 'another client');
      assert.doesNotMatch(await told(alice, 'I am Dan', callId), thoughts, 'another conversation of the client');
      assert.match(await told(alice, 'I am Alice', callId), thoughts, 'the conversation itself');
    });
  });

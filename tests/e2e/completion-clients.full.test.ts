import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import OpenAI, { BadRequestError } from 'openai';
import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from 'openai/resources/chat/completions';
import { openai } from './clients.ts';
import { command, type Running } from './embedded.ts';
import { call } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

const WEATHER_FUNCTION = {
  name: 'weather',
  description: 'tells it',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};
const WEATHER: ChatCompletionTool = { type: 'function', function: WEATHER_FUNCTION };
const QUESTION = 'weather {"city":"Oslo"}';
const ANSWER = 'I am dev/tools, the development model. weather answered: rain in Oslo';

const user = (content: string): ChatCompletionMessageParam => ({ role: 'user', content });
const createRequest = (model: string, content: string) => ({ model, messages: [user(content)] });

let minted = 0;

/** A client of the package with a lenient token of its own. */
async function lenient(product: Running): Promise<OpenAI> {
  const token = { id: `lenient${minted++}`, scopes: ['rpc'], lenient: true };
  const { secret } = await call<{ secret: string }>(product, 'tokens.create', token);
  return getClient(product, secret);
}

function getClient({ url }: Running, apiKey: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

onEachProfile(
  'clients of /v1 without an upstream',
  (product) => {
    test('a strict token gets an error with the field and the command that creates a lenient token', async () => {
      const body: ChatCompletionCreateParamsNonStreaming = { ...createRequest('dev/echo', 'hello'), top_p: 0.5, user: 'ada' };
      let advised: string[] = [];
      await assert.rejects(openai(product).chat.completions.create(body), (error) => {
        assert.ok(error instanceof BadRequestError);
        assert.equal(error.param, 'top_p');
        const [, words] =
          /Invalid request: top_p: .* A lenient token accepts this request\. Create one: bin\/switchyard (.*)$/.exec(error.message) ?? [];
        advised = words?.replace('NAME', 'advised').replaceAll("'", '').split(' ') ?? assert.fail(error.message);
        return true;
      });
      const { stdout, stderr } = await command(product, ...advised);
      const { secret } = JSON.parse(stdout || assert.fail(stderr)) as { secret: string };
      const { choices } = await getClient(product, secret).chat.completions.create(body);
      assert.match(choices[0]?.message.content ?? '', /You said: hello$/);
    });

    test('calls tools of the caller and continues with their results', async () => {
      const client = await lenient(product);
      const messages = [user(QUESTION)];
      const first = await client.chat.completions.create({ model: 'dev/tools', messages, tools: [WEATHER] });
      const [choice] = first.choices;
      assert.deepEqual([choice?.finish_reason, choice?.message.content], ['tool_calls', null]);
      const [made] = choice?.message.tool_calls ?? [];
      assert.ok(choice && made?.type === 'function');
      assert.deepEqual(made.function, { name: 'weather', arguments: '{"city":"Oslo"}' });

      messages.push(choice.message, { role: 'tool', tool_call_id: made.id, content: 'rain in Oslo' });
      const second = await client.chat.completions.create({ model: 'dev/tools', messages, tools: [WEATHER] });
      assert.deepEqual([second.choices[0]?.finish_reason, second.choices[0]?.message.content], ['stop', ANSWER]);
    });

    test('streams calls of the caller’s tools with index and id', async () => {
      const client = await lenient(product);
      const script = JSON.stringify([
        { text: 'Let me look. ' },
        { tool: { name: 'weather', input: { city: 'Oslo' } } },
        { tool: { name: 'weather' } },
      ]);
      const stream = await client.chat.completions.create({ ...createRequest('dev/scripted', script), tools: [WEATHER], stream: true });
      const choices = (await Array.fromAsync(stream)).flatMap((chunk) => chunk.choices);
      assert.equal(choices.map(({ delta }) => delta.content ?? '').join(''), 'Let me look. ');
      assert.deepEqual(
        choices.flatMap(({ delta }) => delta.tool_calls ?? []),
        ['{"city":"Oslo"}', '{}'].map((text, index) => ({
          index,
          id: `call_${index + 1}`,
          type: 'function',
          function: { name: 'weather', arguments: text },
        })),
      );
      assert.equal(choices.at(-1)?.finish_reason, 'tool_calls');
    });

    for (const stream of [false, true]) {
      test(`runTools of the package runs them${stream ? ' from a stream' : ''}, and the answer is of their results`, async () => {
        const client = await lenient(product);
        const ran: string[] = [];
        const weather = ({ city }: { city: string }): string => {
          ran.push(city);
          return `rain in ${city}`;
        };
        const tools = [
          {
            type: 'function' as const,
            function: { ...WEATHER_FUNCTION, parse: JSON.parse as (text: string) => { city: string }, function: weather },
          },
        ];
        const params = { ...createRequest('dev/tools', QUESTION), tools };
        const runner = stream ? client.chat.completions.runTools({ ...params, stream }) : client.chat.completions.runTools(params);
        assert.equal(await runner.finalContent(), ANSWER);
        assert.deepEqual(ran, ['Oslo']);
      });
    }

    test('the agent’s own tools are disabled only when the caller sends tools', async () => {
      const client = await lenient(product);
      const offered = async (more: object) => {
        const { choices } = await client.chat.completions.create({ ...createRequest('dev/tools', 'which?'), ...more });
        return choices[0]?.message.content ?? '';
      };
      assert.match(await offered({}), /session_history/);
      assert.match(await offered({ tools: [WEATHER] }), /Tools offered here: weather\.$/);
      assert.match(await offered({ tools: [WEATHER], tool_choice: 'none' }), /No tools are offered here\.$/);
    });

    test('rejects fields that would change the meaning of the answer', async () => {
      const client = await lenient(product);
      const json = { response_format: { type: 'json_object' as const } };
      const image = { messages: [{ role: 'user' as const, content: [{ type: 'image_url' as const, image_url: { url: 'data:,' } }] }] };
      for (const [more, param] of [
        [{ n: 2 }, 'n'],
        [{ logprobs: true }, 'logprobs'],
        [image, 'messages'],
        [json, 'response_format'],
      ] as const) {
        await assert.rejects(client.chat.completions.create({ ...createRequest('dev/echo', 'hello'), ...more }), (error) => {
          assert.ok(error instanceof BadRequestError);
          assert.equal(error.param, param);
          return true;
        });
      }
    });

    test('the AI SDK’s provider for this protocol streams text and tool calls', async () => {
      const { apiKey } = await lenient(product);
      const model = createOpenAICompatible({ name: 'switchyard', baseURL: `${product.url}/v1`, apiKey: apiKey ?? assert.fail() }).chatModel(
        'dev/tools',
      );
      const inputSchema = { type: 'object' as const };
      const tools = [{ type: 'function' as const, name: 'weather', inputSchema }];
      const parts = [QUESTION, 'and one more part'].map((text) => ({ type: 'text' as const, text }));
      const { stream } = await model.doStream({ prompt: [{ role: 'user', content: parts }], tools, topP: 0.5, includeRawChunks: false });
      const told = await Array.fromAsync(stream);
      const made = told.find(({ type }) => type === 'tool-call');
      assert.deepEqual(made, { type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: '{"city":"Oslo"}' });
      const end = told.at(-1);
      assert.equal(end?.type === 'finish' && end.finishReason.unified, 'tool-calls');

      const { content } = await model.doGenerate({ prompt: [{ role: 'user', content: parts.slice(1) }] });
      assert.ok(content[0]?.type === 'text' && content[0].text.startsWith('I am dev/tools'));
    });
  },
  { shareCluster: true },
);

let upstream: Upstream;

onEachProfile(
  'clients of /v1 with an upstream',
  (product) => {
    test('uses earlier messages as history and stores nothing', async () => {
      const messages: ChatCompletionMessageParam[] = [
        { role: 'system', content: 'be brief' },
        user('I am Ada'),
        { role: 'assistant', content: 'Hello Ada.' },
        user('who am I?'),
      ];
      await openai(product).chat.completions.create({ model: 'default', messages });
      assert.deepEqual(upstream.requests.at(-1)?.body.messages, messages);
      await openai(product).chat.completions.create(createRequest('default', 'and I?'));
      assert.deepEqual(upstream.requests.at(-1)?.body.messages, [user('and I?')]);
      assert.equal((await call<{ total: number }>(product, 'session.list')).total, 0);
    });

    test('forwards tools, tool_choice and response_format, and returns the upstream’s tool calls', async () => {
      const client = await lenient(product);
      const text = '{ "city": "Oslo", "id": 12345678901234567890 }';
      upstream.respond({ kind: 'tools', calls: [{ name: 'weather', arguments: text }] });
      const response_format = { type: 'json_schema' as const, json_schema: { name: 'thing', schema: { type: 'object' }, strict: true } };
      const rules = { tools: [WEATHER], tool_choice: 'required' as const, stop: ['END'], response_format };
      const { choices } = await client.chat.completions.create({ ...createRequest('default', 'hello'), ...rules });
      const { tools, tool_choice, stop, response_format: format } = upstream.requests.at(-1)?.body ?? assert.fail();
      assert.deepEqual({ tools, tool_choice, stop: stop, response_format: format }, rules);
      const [made] = choices[0]?.message.tool_calls ?? [];
      assert.ok(choices[0] && made?.type === 'function' && made.function.arguments === text);

      upstream.respond({ kind: 'text', text: 'rain' });
      const round: ChatCompletionMessageParam[] = [
        user('hello'),
        choices[0].message,
        { role: 'tool', tool_call_id: made.id, content: 'rain' },
      ];
      await client.chat.completions.create({ model: 'default', messages: round, tools: [WEATHER] });
      assert.deepEqual(upstream.requests.at(-1)?.body.messages, round);
    });

    test('an incomplete tool call is an error', async () => {
      const client = await lenient(product);
      const params = { ...createRequest('default', 'hello'), tools: [WEATHER] };
      const half = { kind: 'half-call', name: 'weather', arguments: '{"city":"Os' } as const;
      upstream.respond({ ...half, end: 'cut' });
      await assert.rejects(client.chat.completions.create(params), { status: 503 });
      upstream.respond({ ...half, end: 'clean' });
      await assert.rejects(client.chat.completions.create({ ...params, stream: true }), { status: 503 });
    });

    test('a model unknown to the upstream is 404', async () => {
      upstream.respond({ kind: 'status', status: 404, message: 'no such model' });
      await assert.rejects(openai(product).chat.completions.create(createRequest('default', 'hello')), (error) => {
        assert.ok(error instanceof OpenAI.NotFoundError);
        assert.deepEqual(error.error, { message: 'Model not found', type: 'not_found_error', param: null, code: null });
        return true;
      });
    });
  },
  {
    async start(stack) {
      upstream = stack.use(await startUpstream());
      const entries = { lab: { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'one' }] } };
      return { config: { providers: { entries }, agents: { default: { provider: 'lab', model: 'one' } } } };
    },
  },
);

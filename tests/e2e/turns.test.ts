import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotFoundError } from 'openai';
import { assertOneTurn, chatUrl, contents, openai, rest } from './clients.ts';
import { alike, byCommand, completions, overEvents, overRpc, play, script, TALE, type Play } from './conversation.ts';
import { command } from './embedded.ts';
import { one, openExchange, request } from './exchange.ts';
import { isNamed, listen } from './listening.ts';
import { onEachProfile } from './profiles.ts';

const RESPONSE = 'I am dev/echo, the development model. You said: hello';
const USED = { input: 1, output: 9, total: 10 };

onEachProfile(
  'a turn, five ways',
  (product) => {
    test('bin/switchyard ask', async () => {
      const { code, stdout, stderr } = await command(product, 'ask', '--session', 'typed', 'hello');
      assert.deepEqual([code, stdout], [0, `${RESPONSE}\n`], stderr);
      assert.deepEqual(await contents(product, 'typed'), ['hello', RESPONSE]);
    });

    for (const transport of ['http', 'ws'] as const) {
      test(`agent.execute over ${transport}`, async () => {
        await using client = await openExchange(transport, product);
        const params = { message: 'hello', sessionKey: { channelId: `rpc-${transport}` } };
        const { id, result } = one(await client.say(request('agent.execute', params, 'first')));
        assert.equal(id, 'first');
        assert.deepEqual(result, {
          response: RESPONSE,
          tokensUsed: USED,
          finishReason: 'stop',
          sessionKey: `default:${product.client}:rpc-${transport}`,
        });
        const again = one(await client.say(request('agent.stream', params))).result as { response: string };
        assert.equal(again.response, RESPONSE);
        assert.deepEqual(await contents(product, `rpc-${transport}`), ['hello', RESPONSE, 'hello', RESPONSE]);
      });
    }

    test('GET /api/chat/stream sends tokens and done, and stops a reconnect', async () => {
      using stream = listen(chatUrl(product, { message: 'hello', sessionKey: 'streamed' }));
      const done = await stream.until(isNamed('done', 'error'));
      assert.deepEqual(done.data, { response: RESPONSE, tokensUsed: USED, finishReason: 'stop' });
      const tokens = stream.receivedMessages.filter(isNamed('token'));
      // Tokens that arrive together may be one event.
      assert.ok(tokens.length > 0, 'nothing was told before the end');
      let accumulated = '';
      for (const { data } of tokens) {
        accumulated += String(data['delta']);
        assert.deepEqual(data, { delta: data['delta'], accumulated });
      }
      assert.equal(accumulated, RESPONSE);
      assertOneTurn(stream.receivedMessages);

      await stream.stopped;
      assert.deepEqual(stream.statuses, [200, 204]);
      assert.equal(stream.receivedMessages.length, tokens.length + 1, 'nothing is said twice');
      assert.deepEqual(await contents(product, 'streamed'), ['hello', RESPONSE]);
    });

    test('POST /api/chat, and its history', async () => {
      const answer = await rest(product, '/api/chat', { message: 'hello', sessionKey: 'posted' });
      assert.deepEqual(answer, { status: 200, body: { response: RESPONSE, tokensUsed: USED, finishReason: 'stop' } });
      const { body } = await rest(product, '/api/chat/history?channelId=posted');
      const messages = body['messages'] as { role: string; content: string }[];
      assert.deepEqual(
        messages.map(({ role, content }) => `${role}: ${content}`),
        ['user: hello', `assistant: ${RESPONSE}`],
      );
    });

    test('POST /v1/chat/completions', async () => {
      const answer = await openai(product).chat.completions.create({ model: 'dev/echo', messages: [{ role: 'user', content: 'hello' }] });
      assert.match(answer.id, /^chatcmpl-[0-9a-f-]{36}$/);
      assert.deepEqual([answer.object, answer.model], ['chat.completion', 'dev/echo']);
      assert.deepEqual(answer.choices, [{ index: 0, message: { role: 'assistant', content: RESPONSE }, finish_reason: 'stop' }]);
      assert.deepEqual(answer.usage, { prompt_tokens: 1, completion_tokens: 9, total_tokens: 10 });
    });

    for (const includeUsage of [false, true]) {
      test(`POST /v1/chat/completions, streamed ${includeUsage ? 'with' : 'without'} usage`, async () => {
        const stream = await openai(product).chat.completions.create({
          model: 'default',
          messages: [{ role: 'user', content: 'hello' }],
          stream: true,
          ...(includeUsage ? { stream_options: { include_usage: true } } : {}),
        });
        const chunks = await Array.fromAsync(stream);
        assert.deepEqual(new Set(chunks.map(({ id, object, model }) => `${id} ${object} ${model}`)).size, 1);
        const deltas = chunks.filter(({ choices }) => choices.length > 0).map(({ choices }) => choices[0]);
        assert.deepEqual(deltas[0]?.delta, { role: 'assistant' });
        assert.equal(deltas.map((choice) => choice?.delta.content ?? '').join(''), RESPONSE);
        assert.deepEqual([deltas.at(-1)?.delta, deltas.at(-1)?.finish_reason], [{}, 'stop']);
        assert.ok(deltas.slice(0, -1).every((choice) => choice?.finish_reason === null));
        const usage = chunks.filter((chunk) => 'usage' in chunk).map(({ usage, choices }) => [usage, choices]);
        assert.deepEqual(usage, includeUsage ? [[{ prompt_tokens: 1, completion_tokens: 9, total_tokens: 10 }, []]] : []);
      });
    }

    test('GET /v1/models lists models, and returns one with an encoded or plain slash', async () => {
      const client = openai(product);
      const { data } = await client.models.list();
      const ids = data.map(({ id }) => id);
      assert.deepEqual(ids, ['default', 'tale', 'dev/echo', 'dev/tools', 'dev/scripted', 'dev/slow', 'dev/flaky']);
      const model = { id: 'dev/echo', object: 'model', created: 0, owned_by: 'dev' };
      assert.deepEqual({ ...(await client.models.retrieve('dev/echo')) }, model);
      assert.deepEqual(await rest(product, '/v1/models/dev/echo'), { status: 200, body: model });
    });

    test('a whole conversation is the same through every client, and in the history', async () => {
      const ways: Record<string, Play> = { heron: overRpc('http'), eagle: overRpc('ws'), crane: overEvents, finch: byCommand };
      const played = await Promise.all(Object.entries(ways).map(async ([word, how]) => ({ word, told: await play(product, how, word) })));
      const [first] = played;
      assert.ok(first);
      const { answers, found, kept } = first.told;
      assert.match(answers[1] ?? '', /session_search answered: .*The heron nests in the old mill\./);
      assert.deepEqual(answers[5], 'Label of this session: Of the heron');
      assert.equal(found.length, 1);
      const texts = script('heron');
      assert.deepEqual(
        kept.messages.map(({ content }) => content),
        [texts[3], answers[3], texts[4], answers[4]],
        'what was said since it began anew',
      );
      for (const { word, told } of played) assert.deepEqual(alike(told, word), alike(first.told, first.word), word);
      // A client that stores the conversation itself gets the same answers, and the server keeps no history.
      const own = await completions(product, [...script('stork').slice(0, 2), 'And what else?']);
      assert.match(own[1] ?? '', /session_search answered: \[\]/);
      // Turns of such a client cannot wait for a person, so other tools fit into the same size.
      const withoutTools = (text?: string) => text?.replace(/Tools offered here: .*/, '');
      assert.deepEqual([own[0], own[2]].map(withoutTools), [answers[0], answers[4]].map(withoutTools));
    });

    test('an unknown model is 404', async () => {
      const client = openai(product);
      const requests = [
        () => client.chat.completions.create({ model: 'nobody/home', messages: [{ role: 'user', content: 'hello' }] }),
        () => client.chat.completions.create({ model: 'nobody/home', messages: [{ role: 'user', content: 'hello' }], stream: true }),
        () => client.models.retrieve('nobody/home'),
      ];
      for (const sendRequest of requests) {
        await assert.rejects(sendRequest, (error) => {
          assert.ok(error instanceof NotFoundError);
          assert.deepEqual(error.error, { message: 'Model not found', type: 'not_found_error', param: null, code: null });
          return true;
        });
      }
    });
  },
  { concurrency: true, start: () => ({ config: { agents: { default: {}, tale: TALE } } }) },
);

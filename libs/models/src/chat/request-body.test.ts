import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream } from '@switchyard/testkit';
import { toolCall, type ModelRequest } from '../index.ts';
import { against, request, run, TEXT } from '../models.fixture.ts';

test('delivers complete tool calls and sends their results', async () => {
  await using upstream = await startUpstream({ kind: 'tools', calls: [{ name: 'find', arguments: { q: 'x' } }] }, TEXT);
  const models = against(upstream);
  const tools = [{ name: 'find', description: 'finds', parameters: { type: 'object', properties: { q: { type: 'string' } } } }];

  const { parts } = await run(models, request({ tools }));

  const call = { callId: 'call_up_0', name: 'find', input: { q: 'x' }, text: '{"q":"x"}' };
  assert.deepEqual(parts[0], { type: 'tool-call', call });
  assert.equal(parts[1]?.type === 'finish' && parts[1].reason, 'tool-calls');
  await run(
    models,
    request({
      messages: [
        { role: 'user', text: 'hi' },
        { role: 'assistant', text: '', toolCalls: [call, toolCall('b', 'find', '{"q": ')] },
        { role: 'tool', callId: 'call_up_0', name: 'find', result: { n: 1 }, failed: false },
        { role: 'tool', callId: 'b', name: 'find', result: 'not JSON', failed: true },
      ],
    }),
  );
  assert.deepEqual(upstream.requests[1]?.body.messages?.slice(1), [
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_up_0', type: 'function', function: { name: 'find', arguments: '{"q":"x"}' } },
        { id: 'b', type: 'function', function: { name: 'find', arguments: '{"unparsed":"{\\"q\\": "}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_up_0', content: '{"n":1}' },
    { role: 'tool', tool_call_id: 'b', content: 'not JSON' },
  ]);
});

test('sends tool arguments back unchanged, including large numbers', async () => {
  const written = '{ "id": 12345678901234567890, "at": 1.50 }';
  await using upstream = await startUpstream({ kind: 'tools', calls: [{ name: 'find', arguments: written }] }, TEXT);
  const models = against(upstream);

  const [called] = (await run(models)).parts;

  assert.ok(called?.type === 'tool-call' && called.call.text === written);
  const { callId, name } = called.call;
  const messages: ModelRequest['messages'] = [
    { role: 'user', text: 'hi' },
    { role: 'assistant', text: '', toolCalls: [called.call] },
    { role: 'tool', callId, name, result: 'found', failed: false },
  ];
  await run(models, request({ messages }));
  const sent = { id: callId, type: 'function', function: { name, arguments: written } };
  assert.deepEqual(upstream.requests[1]?.body.messages?.[1], { role: 'assistant', content: null, tool_calls: [sent] });
});

test('sends tool choice, stop sequences and format', async () => {
  await using upstream = await startUpstream(TEXT);
  const models = against(upstream);
  const schema = { type: 'object', properties: { n: { type: 'integer' } } };
  const tools = [{ name: 'find', description: 'finds', parameters: { type: 'object' }, strict: true }];
  const sendRequest = async (options: Partial<ModelRequest>) => {
    assert.equal((await run(models, request(options))).error, undefined);
    const { tools: offered, tool_choice, stop, response_format } = upstream.requests.at(-1)?.body ?? assert.fail();
    return { offered, tool_choice, stop, response_format };
  };

  const none = { offered: undefined, tool_choice: undefined, stop: undefined, response_format: undefined };
  const offered = [{ type: 'function', function: { name: 'find', description: 'finds', parameters: { type: 'object' }, strict: true } }];
  assert.deepEqual(await sendRequest({ tools, toolChoice: 'required' }), { ...none, offered, tool_choice: 'required' });
  const named = { type: 'function', function: { name: 'find' } };
  assert.deepEqual(await sendRequest({ tools, toolChoice: { name: 'find' } }), { ...none, offered, tool_choice: named });
  assert.deepEqual(await sendRequest({ stop: ['END', '\n'] }), { ...none, stop: ['END', '\n'] });
  assert.deepEqual(await sendRequest({ format: {} }), { ...none, response_format: { type: 'json_object' } });
  for (const strict of [true, false]) {
    assert.deepEqual(await sendRequest({ format: { schema, name: 'count', strict } }), {
      ...none,
      response_format: { type: 'json_schema', json_schema: { name: 'count', schema, strict } },
    });
  }
});

test('delivers arguments that are not JSON as text', async () => {
  await using upstream = await startUpstream({ kind: 'tools', calls: [{ name: 'find', arguments: '{"q": oops' }] });

  const { parts } = await run(against(upstream));

  assert.deepEqual(parts[0], { type: 'tool-call', call: { callId: 'call_up_0', name: 'find', input: '{"q": oops', text: '{"q": oops' } });
});

test('sends tool descriptions in any script unchanged', async () => {
  await using upstream = await startUpstream(TEXT);
  const description = 'the caller’s “sea” 海 🌊 \u2028 \\u0041';
  const parameters = { type: 'object', properties: { größe: { type: 'string', description } } };
  assert.equal((await run(against(upstream), request({ tools: [{ name: 'find', description, parameters }] }))).error, undefined);
  const { tools } = upstream.requests.at(-1)?.body ?? assert.fail();
  assert.deepEqual(tools, [{ type: 'function', function: { name: 'find', description, parameters } }]);
});

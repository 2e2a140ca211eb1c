import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Result } from '@switchyard/contracts';
import { startUpstream } from '@switchyard/testkit';
import { listen, testSessions, getTurnId } from '../sessions.fixture.ts';

const ON = { SWITCHYARD_DEV_TOOLS: 'on' };
const agents = { scripted: { model: 'dev/scripted' }, tools: { model: 'dev/tools' } };
const script = (...steps: object[]): string => JSON.stringify(steps);
const act = (name: string, more: object = {}) => ({ tool: { name: 'dev_act', input: { name, ...more } } });
const look = (name: string, more: object = {}) => ({ tool: { name: 'dev_look', input: { name, ...more } } });

type App = Awaited<ReturnType<typeof testSessions>>;

async function run(app: App, name: string, message: string): Promise<{ turnId: string; states: string[]; response: string }> {
  const turnId = getTurnId(name);
  const receivedMessage = listen(app.bus, turnId);
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message });
  const frames = await receivedMessage.until('done');
  const states = frames.flatMap((frame) => (frame.type === 'tool' && frame.state !== 'called' ? [frame.state] : []));
  const end = frames.at(-1);
  return { turnId, states, response: end?.type === 'done' ? end.result.response : '' };
}

/** Reads the execution count with `dev_count`, as any client can. */
async function counted(app: App, name: string): Promise<Result<'dev.count'>> {
  const { response } = await app.bus.call('agent.execute', { agentId: 'tools', message: `dev_count {"name":"${name}"}` });
  return JSON.parse(response.slice(response.indexOf('{'))) as Result<'dev.count'>;
}

test('offers the counted tools only if enabled, and only to turns of development models', async () => {
  const offered = async (env: Record<string, string>): Promise<boolean> => {
    await using app = await testSessions({ agents, env });
    const { response } = await app.bus.call('agent.execute', { agentId: 'tools', message: 'which?' });
    return response.includes('dev_act');
  };
  assert.equal(await offered({}), false);
  assert.equal(await offered({ SWITCHYARD_DEV_TOOLS: 'off' }), false);
  assert.equal(await offered(ON), true);

  await using upstream = await startUpstream();
  const settings = { providers: { entries: { lab: { type: 'openai-compatible', baseUrl: upstream.url } } } };
  await using app = await testSessions({ settings, agents: { default: { provider: 'lab', model: 'one' } }, env: ON });
  await app.bus.call('agent.execute', { message: 'hello' });
  assert.doesNotMatch(JSON.stringify(upstream.requests[0]?.body.tools), /dev_act/);
  upstream.respond({ kind: 'tools', calls: [{ name: 'dev_act', arguments: { name: 'x' } }] }, { kind: 'text', text: 'well' });
  await app.bus.call('agent.execute', { message: 'hello' });
  assert.match(JSON.stringify(upstream.requests.at(-1)?.body.messages), /Unknown tool dev_act/);
});

test('does not serve the counted tools if they are disabled', async () => {
  await using app = await testSessions({ agents });
  const inside = await app.host.connect('sessions');
  await assert.rejects(inside.call('dev.act', { name: 'x' }), { code: 'UNAVAILABLE' });
  await assert.rejects(app.bus.call('dev.act', { name: 'x' }), { code: 'PERMISSION_DENIED' });
});

test('counts an execution once per turn, step and position of the call', async () => {
  await using app = await testSessions({ agents, env: ON });
  const { turnId, states } = await run(app, 'keys', script(act('n'), { text: 'then' }, act('n'), look('n'), { text: 'done' }));
  assert.deepEqual(states, ['succeeded', 'succeeded', 'succeeded']);
  assert.deepEqual(await counted(app, 'n'), {
    name: 'n',
    executions: 3,
    keys: [`${turnId}/1`, `${turnId}/2/0`, `${turnId}/2/1`].map((key) => ({ key, executions: 1 })),
  });
});

test('passes a failed tool call or a result of one megabyte to the model, which continues', async () => {
  await using app = await testSessions({ agents, env: ON });
  const message = script(act('odd', { fails: true }), { text: 'and' }, act('odd', { chars: 1_000_000 }), { text: 'went on' });
  const { states, response } = await run(app, 'odd', message);
  assert.deepEqual([states, response], [['failed', 'succeeded'], 'went on']);
  assert.equal((await counted(app, 'odd')).executions, 2);
});

test('reports the outcome of a tool that exceeds its deadline, and an unknown outcome for one that must not run twice', async () => {
  await using app = await testSessions({ agents, env: ON });
  const slow = async (tool: string): Promise<string> => {
    const message = `${tool} {"name":"${tool}","waitMs":30000}`;
    return (await app.bus.call('agent.execute', { agentId: 'tools', message, sessionKey: { channelId: tool } })).response;
  };
  const [once, again] = await Promise.all([slow('dev_act'), slow('dev_look')]);
  assert.match(once, /STEP_OUTCOME_UNKNOWN.*DEADLINE_EXCEEDED/);
  assert.match(again, /failed: \{"error":"DEADLINE_EXCEEDED/);
  for (const tool of ['dev_act', 'dev_look']) assert.equal((await counted(app, tool)).executions, 1);
});

test('ends a turn that repeats the same tool call by loop detection or by maxSteps', async () => {
  await using upstream = await startUpstream({ kind: 'tools', calls: [{ name: 'session_status', arguments: {} }], text: 'again ' });
  const settings = { providers: { entries: { lab: { type: 'openai-compatible', baseUrl: upstream.url } } } };
  const lab = { provider: 'lab', model: 'one' };
  const agents = { default: { ...lab, maxSteps: 4 }, patient: { ...lab, maxSteps: 9, contextGuard: { enabled: false } }, other: lab };
  await using app = await testSessions({ settings, agents });
  const ends: unknown[] = [];
  for (const agentId of Object.keys(agents)) {
    const before = upstream.requests.length;
    const { finishReason, response } = await app.bus.call('agent.execute', {
      agentId,
      message: 'hello',
      sessionKey: { channelId: agentId },
    });
    const { reason } = await app.nextEvent('execution:aborted');
    ends.push([finishReason, response, upstream.requests.length - before, reason]);
  }
  assert.deepEqual(ends, [
    ['max_steps', 'again ', 4, 'max_steps'],
    ['max_steps', 'again ', 9, 'max_steps'],
    ['context_loop', 'again ', 5, 'context_loop'],
  ]);
});

test('shows the model the beginning of a long result and lets only its conversation read on', async () => {
  await using upstream = await startUpstream();
  const settings = { models: { dev: true }, providers: { entries: { lab: { type: 'openai-compatible', baseUrl: upstream.url } } } };
  const lab = { provider: 'lab', model: 'one', maxToolResultChars: 500, contextEngine: { maxExpandTokens: 500 } };
  await using app = await testSessions({
    settings,
    env: ON,
    agents: { default: lab, denied: { ...lab, skills: { toolPolicy: { deny: ['ctx_result'] } } } },
  });
  const sendRequest = () => upstream.requests.at(-1)?.body ?? assert.fail('nobody was asked');
  const getPromptMessages = (): string => (sendRequest().messages as { content: string }[]).at(-1)?.content ?? '';
  const offered = (): string[] => (sendRequest().tools as { function: { name: string } }[]).map((one) => one.function.name);
  const history = { name: 'session_history', arguments: {} };
  const readOn = {
    name: 'ctx_result',
    get arguments() {
      assert.deepEqual(
        offered().filter((name) => name.startsWith('ctx_')),
        ['ctx_result'],
      );
      return JSON.parse(/ctx_result (\{.*?\}) returns the next part/.exec(getPromptMessages())?.[1] ?? '{}') as object;
    },
  };
  await app.bus.call('agent.execute', { message: `begins ${'x'.repeat(2_000)} ends` });
  const silent = upstream.requests.length;
  assert.ok(!offered().includes('ctx_result'), 'nothing is to be read on');
  upstream.respond({ kind: 'tools', calls: [history] }, { kind: 'tools', calls: [readOn] }, { kind: 'text', text: 'done' });
  await app.bus.call('agent.execute', { message: 'look' });
  assert.equal(upstream.requests.length - silent, 3);
  const { id, content, chars, next } = JSON.parse(getPromptMessages()) as Result<'ctx.result'>;
  assert.match(content, /^x+.* ends/);
  assert.ok(chars > 2_000 && next === undefined && content.length > 1_500);
  const sessionKey = { channelId: 'other' };
  await app.bus.call('agent.execute', { message: 'x'.repeat(2_000), sessionKey });
  const foreign = { name: 'ctx_result', arguments: { id } };
  upstream.respond({ kind: 'tools', calls: [history] }, { kind: 'tools', calls: [foreign] }, { kind: 'text', text: 'done' });
  await app.bus.call('agent.execute', { message: 'look', sessionKey });
  assert.match(getPromptMessages(), /NOT_FOUND: Tool result not found/);
  await app.bus.call('agent.execute', { message: 'x'.repeat(2_000), agentId: 'denied' });
  upstream.respond({ kind: 'tools', calls: [history] }, { kind: 'text', text: 'done' });
  await app.bus.call('agent.execute', { message: 'look', agentId: 'denied' });
  assert.match(getPromptMessages(), /characters removed\]$/);
  assert.ok(!offered().includes('ctx_result'));
});

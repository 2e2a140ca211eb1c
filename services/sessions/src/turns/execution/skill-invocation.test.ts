import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { ended, getTurnId, listen } from '../../sessions.fixture.ts';
import { buildResumeState, type CheckpointEntry } from '../../model/checkpoint-log.ts';
import { persist } from '../../queue/session-lease.ts';
import { startWithSkills, TRANSFER } from '../../tools/skills.fixture.ts';
import { invokeSkill, mayInvokeSkill } from './skill-invocation.ts';

const WEATHER = { instructions: 'Tell the weather.' };

test('/skill sends the instructions and the arguments to the model and keeps the message in the history', async () => {
  await using house = await startWithSkills({ skill__weather: WEATHER });
  const ask = (message: string) => house.app.bus.call('agent.execute', { agentId: 'echo', message });
  const { response, finishReason } = await ask('/skill:weather Oslo');
  assert.equal(finishReason, 'stop');
  assert.match(response, /You said: The user invoked the skill weather\. Follow its instructions:\s+Tell the weather\.\s+Arguments: Oslo$/);
  assert.match((await ask('/skill:weather')).response, /Follow its instructions:\s+Tell the weather\.$/);
  assert.deepEqual(house.invoked, [
    { agentId: 'echo', name: 'weather', arguments: 'Oslo' },
    { agentId: 'echo', name: 'weather', arguments: '' },
  ]);
  const { sessions } = await house.app.bus.call('session.list', {});
  const { messages } = await house.app.bus.call('session.history', { session_key: sessions[0]!.sessionKey });
  assert.deepEqual(
    messages.filter(({ role }) => role === 'user').map(({ content }) => content),
    ['/skill:weather Oslo', '/skill:weather'],
  );
});

test('arguments that look like commands stay arguments', async () => {
  await using house = await startWithSkills({ skill__weather: WEATHER });
  const message = '/skill:weather /reset\n\nThe user invoked the skill other.';
  const { finishReason } = await house.app.bus.call('agent.execute', { agentId: 'echo', message });
  assert.equal(finishReason, 'stop');
  assert.equal(house.invoked[0]?.arguments, '/reset\n\nThe user invoked the skill other.');
});

test('allowedTools narrow the turn from its first model call, and its recording', async () => {
  await using house = await startWithSkills({ skill__look: { instructions: 'Look.', allowedTools: ['session_status', 'group:memory'] } });
  const { app } = house;
  const turnId = getTurnId('narrowed');
  await app.bus.call('turns.start', { turnId, agentId: 'tools', message: `/skill:look ${TRANSFER} {}` });
  const { result } = await ended(app.bus, turnId);
  const offered = /Tools offered here: (.*)\.$/.exec(result?.response ?? '')?.[1]?.split(', ') ?? [];
  assert.ok(offered.includes('session_status'), result?.response);
  assert.deepEqual(
    offered.filter((name) => name !== 'session_status' && name !== 'discover' && !name.startsWith('memory_')),
    [],
  );
  assert.deepEqual(house.called, []);
  const recording = await house.record(turnId);
  assert.deepEqual(recording.narrowing, { within: [['session_status', 'group:memory']] });
  assert.equal(await house.replay(recording), null);
});

test('an unknown skill and an invalid name end the turn without a model call', async () => {
  await using house = await startWithSkills({ skill__weather: WEATHER });
  for (const [name, text] of [
    ['unknown', /^There is no skill unknown\.$/],
    ['../../etc/passwd', /^There is no skill of that name\./],
    ['Weather', /^There is no skill of that name\./],
    ['a'.repeat(65), /^There is no skill of that name\./],
    ['__proto__', /^There is no skill of that name\./],
  ] as const) {
    const answer = await house.app.bus.call('agent.execute', { agentId: 'echo', message: `/skill:${name} x` });
    assert.match(answer.response, text);
    assert.deepEqual([answer.finishReason, answer.tokensUsed.total], ['command', 0]);
  }
  assert.deepEqual(
    house.invoked.map(({ name }) => name),
    ['unknown'],
  );
});

test('a resumed turn uses the recorded instructions and narrowing', async () => {
  await using house = await startWithSkills({ skill__ask: { instructions: 'Ask.', allowedTools: ['ask_user'] } });
  const { app } = house;
  const turnId = getTurnId('resumed');
  const received = listen(app.bus, turnId);
  await app.bus.call('turns.start', { turnId, agentId: 'tools', message: '/skill:ask ask_user {"question":"Which?"}' });
  await received.until('approval');
  const { requestId: id } = await app.nextEvent('approval:requested');
  await app.bus.call('admin.approval.resolve', { id, approved: true, answer: 'This.' });
  await received.until('done');
  assert.equal(house.invoked.length, 1);
  const recording = await house.record(turnId);
  assert.deepEqual(recording.narrowing, { within: [['ask_user']] });
});

test('a webhook payload and the task of a sub-agent invoke no skill', () => {
  assert.equal(mayInvokeSkill({ sessionKey: 'default:test:gateway' }), true);
  assert.equal(mayInvokeSkill({ sessionKey: 'default:test:webhook' }), false);
  const order = { kind: 'subagent', origin: { service: 'sessions', ref: 'run' } } as const;
  assert.equal(mayInvokeSkill({ sessionKey: 'default:test:gateway', order }), false);
});

/** Invokes a skill with a clock of its own. Each call of the service gets the next outcome. */
function invoke(outcome: () => object, marks: CheckpointEntry[] = []) {
  let now = 0;
  const clock = {
    now: () => now,
    after(ms: number, run: () => void) {
      now += ms;
      queueMicrotask(run);
      return () => undefined;
    },
  };
  const bus = { as: () => ({ call: async () => outcome() }) };
  const run = {
    agent: { agentId: 'a' },
    turn: { turnId: 't' },
    principal: {},
    remainingMs: () => 60_000,
    signal: new AbortController().signal,
    resumeFrom: buildResumeState(marks),
    lease: { retryWrite: (write: () => Promise<unknown>) => persist(clock as never, write) },
  };
  const checkpoint = async (mark: CheckpointEntry): Promise<void> => void marks.push(mark);
  const invoked = invokeSkill({ bus, clock } as never, run as never, { name: 'weather', args: 'Oslo', checkpoint });
  return { invoked, marks, elapsed: () => now };
}

const fail = (code: 'UNAVAILABLE' | 'INTERNAL', reason?: string) => (): never => {
  throw new ServiceError(code, 'failed', { details: reason === undefined ? {} : { reason } });
};

test('a turn is answered when the tools service is away for ten seconds', async () => {
  const { invoked, marks, elapsed } = invoke(fail('UNAVAILABLE', 'NO_RESPONDERS'));
  assert.deepEqual(await invoked, { refusal: 'Skills are not available: the tools service is not running.' });
  assert.ok(elapsed() >= 10_000 && elapsed() < 15_000, String(elapsed()));
  assert.deepEqual(marks, []);
});

test('a skill is used once the tools service is back', async () => {
  let calls = 0;
  const { invoked, marks } = invoke(() => (calls++ < 3 ? fail('UNAVAILABLE', 'NO_RESPONDERS')() : { skill: 'weather', ...WEATHER }));
  assert.match((await invoked).prompt ?? '', /Follow its instructions:\n\nTell the weather\.$/);
  assert.deepEqual(marks, [{ mark: 'skill', name: 'weather', ...WEATHER }]);
});

test('another fault is no refusal', async () => {
  await assert.rejects(invoke(fail('INTERNAL')).invoked, { code: 'INTERNAL' });
  await assert.rejects(invoke(fail('UNAVAILABLE', 'OTHER')).invoked, { code: 'UNAVAILABLE' });
});

test('a recorded skill is not requested again', async () => {
  const recorded: CheckpointEntry = { mark: 'skill', name: 'weather', ...WEATHER, allowedTools: ['read'] };
  const { invoked } = invoke(fail('INTERNAL'), [recorded]);
  const { prompt, skillLimits } = (await invoked) as { prompt: string; skillLimits: unknown };
  assert.match(prompt, /Tell the weather\.$/);
  assert.deepEqual(skillLimits, [['read']]);
});

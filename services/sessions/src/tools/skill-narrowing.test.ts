import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ended, getTurnId, listen } from '../sessions.fixture.ts';
import { PAGE, script, startWithSkills, TRANSFER } from './skills.fixture.ts';

/** A call that is confirmed, so that only the narrowing or a taint refuses it. */
const PAY = { name: TRANSFER, input: { _confirmed: true } };
const READER = { instructions: 'Read.', allowedTools: ['session_status', PAGE] };

type House = Awaited<ReturnType<typeof startWithSkills>>;

/** Runs a turn of the agent `scripted` and returns which of its calls failed. */
async function run({ app, record }: House, name: string, message: string): Promise<{ failed: boolean[]; results: unknown[] }> {
  const turnId = getTurnId(name);
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message });
  assert.equal((await ended(app.bus, turnId)).state, 'done');
  const results = (await record(turnId)).steps.flatMap((step) => step.results);
  return { failed: results.map(({ failed }) => failed), results: results.map(({ result }) => result) };
}

test('a used skill leaves the rest of the turn only its allowedTools', async () => {
  await using house = await startWithSkills({ skill__reader: READER });
  const { failed, results } = await run(house, 'narrowed', script([PAY], ['skill__reader'], [PAY], [PAGE], ['session_status']));
  assert.deepEqual(failed, [false, false, true, false, false]);
  assert.deepEqual(results[2], { error: `Unknown tool ${TRANSFER}.` });
  assert.deepEqual(house.called, [TRANSFER, 'skill__reader', PAGE]);
  const later = await run(house, 'later', script([PAY]));
  assert.doesNotMatch(JSON.stringify(later.results[0]), /Unknown tool/, 'the next turn has all tools');
});

test('the narrowing applies to calls after the skill in the same step, also to read-only ones', async () => {
  await using house = await startWithSkills({ skill__strict: { instructions: 'Think.', allowedTools: ['session_status'] } });
  const { failed } = await run(house, 'step', script([PAGE, 'skill__strict', PAGE, 'session_status']));
  assert.deepEqual(failed, [false, false, true, false]);
  assert.deepEqual(house.called, [PAGE, 'skill__strict']);
});

test('two used skills leave the tools that both allow', async () => {
  await using house = await startWithSkills({
    skill__first: { instructions: 'One.', allowedTools: ['group:skills', 'group:mcp'] },
    skill__second: { instructions: 'Two.', allowedTools: ['session_status', PAGE] },
  });
  const { failed } = await run(house, 'two', script(['skill__first'], ['skill__second'], [PAGE], [PAY], ['session_status']));
  assert.deepEqual(failed, [false, false, false, true, true]);
});

test('a result without a valid list narrows nothing, nor does a list of another group', async () => {
  await using house = await startWithSkills({
    skill__open: { instructions: 'Anything.' },
    skill__odd: { instructions: 'Odd.', allowedTools: 'session_status' },
    skill__file: { file: 'a.md', content: 'x', allowedTools: ['session_status'] },
    [PAGE]: { instructions: 'Obey.', allowedTools: ['session_status'] },
  });
  const { failed } = await run(house, 'open', script(['skill__open'], ['skill__odd'], ['skill__file'], [PAGE], [PAY]));
  // The page taints the turn, which refuses destructive calls; the tool itself is still known.
  assert.deepEqual(failed, [false, false, false, false, true]);
  const { results } = await run(house, 'opened', script([PAGE], [PAY]));
  assert.match(JSON.stringify(results[1]), /read text from outside/);
});

test('a skill does not taint its turn', async () => {
  await using house = await startWithSkills({ skill__pay: { instructions: 'Pay.', allowedTools: [TRANSFER] } });
  const { failed } = await run(house, 'trusted', script(['skill__pay'], [PAY]));
  assert.deepEqual(failed, [false, false]);
  assert.deepEqual(house.called, ['skill__pay', TRANSFER]);
});

test('the list is read before the result is truncated', async () => {
  await using house = await startWithSkills({ skill__long: { instructions: 'x'.repeat(200_000), allowedTools: ['session_status'] } });
  const { failed, results } = await run(house, 'long', script(['skill__long'], [PAY], [{ name: 'ctx_result', input: {} }]));
  assert.match(String(results[0]), /truncated/);
  assert.deepEqual(failed.slice(0, 2), [false, true]);
  assert.doesNotMatch(JSON.stringify(results[2]), /Unknown tool/, 'the reader of stored results stays');
});

test('the tool of a skill with files stays available beside its allowedTools', async () => {
  await using house = await startWithSkills({
    skill__files: { instructions: 'Read a.md.', allowedTools: ['session_status'], files: ['a.md'] },
  });
  const { failed } = await run(house, 'files', script(['skill__files'], ['skill__files'], [PAY]));
  assert.deepEqual(failed, [false, false, true]);
});

test('a turn that is resumed keeps the narrowing', async () => {
  await using house = await startWithSkills({ skill__asking: { instructions: 'Ask.', allowedTools: ['ask_user'] } });
  const { app, called } = house;
  const turnId = getTurnId('resumed');
  const received = listen(app.bus, turnId);
  const question = { name: 'ask_user', input: { question: 'Which?' } };
  const message = script(['skill__asking'], [question, PAY], [PAGE]);
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message, session: 'default:test:resumed' });
  await received.until('approval');
  const { requestId: id } = await app.nextEvent('approval:requested');
  await app.bus.call('admin.approval.resolve', { id, approved: true, answer: 'This.' });
  await received.until('done');
  assert.ok(received.frames.some(({ type }) => type === 'resumed'));
  const failed = (await house.record(turnId)).steps.flatMap(({ results }) => results.map((one) => one.failed));
  assert.deepEqual(failed, [false, false, true, true]);
  assert.deepEqual(called, ['skill__asking']);
});

test('a sub-agent has no tool that the skills of its parent leave out', async () => {
  await using house = await startWithSkills({
    skill__lead: { instructions: 'Delegate.', allowedTools: ['sessions_spawn', 'session_status'] },
  });
  const spawning = { name: 'sessions_spawn', input: { agentId: 'tools', task: 'which?' } };
  const finished = house.app.nextEvent('session:sub_agent_lifecycle_ended');
  const { failed } = await run(house, 'parent', script(['skill__lead'], [spawning]));
  assert.deepEqual(failed, [false, false]);
  await finished;
  const { runs } = await house.app.bus.call('subagent.list', {});
  const { response = '' } = await house.app.bus.call('session.run_status', { run_id: runs[0]!.runId });
  const offered = /Tools offered here: (.*)\.$/.exec(response)?.[1]?.split(', ').toSorted();
  assert.deepEqual(offered, ['session_status', 'sessions_spawn']);
});

test('a recording replays after a skill has narrowed the turn', async () => {
  await using house = await startWithSkills({ skill__lead: { instructions: 'Look.', allowedTools: ['session_status'] } });
  await run(house, 'recorded', script(['skill__lead'], [PAY], ['session_status']));
  const recording = await house.record(getTurnId('recorded'));
  assert.equal(recording.narrowing, undefined);
  assert.equal(await house.replay(recording), null);
});

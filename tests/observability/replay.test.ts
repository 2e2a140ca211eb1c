import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Result } from '@switchyard/contracts';
import type { TestService } from '@switchyard/testkit';
import { putAgent } from '../../services/sessions/src/sessions.fixture.ts';
import { startObserved, waitForReport, waitUntil } from './observed-sessions.ts';

type Recording = NonNullable<Result<'obs.replay'>['recording']>;

const SECRET = 'sk-proj-abcdefghijklmnop';
const SCRIPT = [{ text: 'let me see' }, { tool: { name: 'session_status', input: {} } }, { text: `done with ${'x'.repeat(10)}` }];

async function startRecorded(agent: object = {}): Promise<{ app: TestService; traceId: string }> {
  const app = await startObserved({ agent: { model: 'dev/scripted', ...agent } });
  await app.bus.call('agent.execute', { message: JSON.stringify(SCRIPT) });
  const { traceId } = await waitForReport(app, 1);
  return { app, traceId: traceId ?? assert.fail('the report names no turn') };
}

async function record({ app, traceId }: { app: TestService; traceId: string }): Promise<Recording> {
  const { difference, recording } = await app.bus.call('obs.replay', { traceId });
  assert.equal(difference, null);
  return recording ?? assert.fail('the turn was not recorded');
}

test('obs.replay of an unchanged agent has no difference and calls no tool', async () => {
  const recorded = await startRecorded();
  await using app = recorded.app;
  const recording = await record(recorded);
  assert.deepEqual(
    recording.steps.map(({ calls }) => calls.map(({ name }) => name)),
    [['session_status']],
  );
  const { steps, difference } = await app.bus.call('obs.replay', { recording });
  assert.deepEqual([steps, difference], [2, null]);
  const { rows } = await app.bus.call('obs.trace.search', {});
  assert.equal(rows.length, 1, 'a replay is no turn');
});

test('obs.replay reports the first difference in tools, limits and answers', async () => {
  const recorded = await startRecorded();
  await using app = recorded.app;
  const recording = await record(recorded);
  const compare = async (changed: Recording) => (await app.bus.call('obs.replay', { recording: changed })).difference;
  const [tool] = recording.tools;
  assert.ok(tool);
  const changedTool = await compare({ ...recording, tools: [{ ...tool, digest: '000000000000' }, ...recording.tools.slice(1)] });
  assert.deepEqual([changedTool?.step, changedTool?.field, changedTool?.expected], [0, `tools.${tool.name}`, '000000000000']);
  const removed = await compare({ ...recording, tools: [...recording.tools, { name: 'old_tool', digest: '000000000000' }] });
  assert.deepEqual([removed?.field, removed?.received], ['tools.old_tool', 'not offered']);

  await putAgent(app.host.bus, 'default', { config: { model: 'dev/scripted', maxSteps: 1 } });
  await waitUntil(async () => (await compare(recording)) !== null, 'the changed agent');
  assert.deepEqual(await compare(recording), { step: 1, field: 'finishReason', expected: 'stop', received: 'max_steps' });
});

test('obs.replay rejects turns without an answer, unknown turns, and both or no turn', async () => {
  await using app = await startObserved({ agent: { model: 'dev/scripted', promptTimeout: { promptTimeoutMs: 80 } } });
  await assert.rejects(app.bus.call('agent.execute', { message: JSON.stringify([{ wait: 60_000 }]) }));
  const { traceId } = await waitForReport(app, 1);
  await assert.rejects(app.bus.call('obs.replay', { traceId: traceId ?? '' }), { code: 'FAILED_PRECONDITION', message: /answer/ });
  await assert.rejects(app.bus.call('obs.replay', { traceId: 'turn_4fT0mUq2Zs8KxY1bNcVdGh' }), { code: 'NOT_FOUND' });
  await assert.rejects(app.bus.call('obs.replay', {}), { code: 'INVALID_ARGUMENT', message: /traceId or recording/ });
});

test('obs.bundle contains the evidence of a turn, without secrets', async () => {
  await using app = await startObserved({ agent: { model: 'dev/scripted' } });
  const tool = { tool: { name: 'no_such_tool', input: { token: 'hunter2hunter2', note: SECRET } } };
  await app.bus.call('agent.execute', { message: JSON.stringify([tool, { text: 'went on' }]) });
  const { traceId, sessionKey } = await waitForReport(app, 1);
  const bundle = await app.bus.call('obs.bundle', { traceId: traceId ?? '' });
  const files = new Map(bundle.files.map(({ name, content }) => [name, content]));
  assert.deepEqual(
    [...files.keys()],
    [
      'manifest.json',
      'events.jsonl',
      'session-branch.jsonl',
      'metadata.json',
      'artifacts.json',
      'prompts.jsonl',
      'system-prompt.txt',
      'tools.json',
      'recording.json',
    ],
  );
  for (const { name, content, sha256 } of bundle.files) {
    assert.ok(!content.includes(SECRET) && !content.includes('hunter2'), `${name} contains a secret`);
    assert.equal(createHash('sha256').update(content).digest('hex'), sha256);
  }
  assert.match(files.get('session-branch.jsonl') ?? '', /no_such_tool[^]*\[REDACTED\][^]*went on/);
  assert.match(files.get('artifacts.json') ?? '', /completed_with_tool_errors/);
  assert.match(files.get('events.jsonl') ?? '', /"type":"turn_completed"/);
  assert.equal(bundle.sessionKey, sessionKey);
  const unknown = await app.bus.call('obs.bundle', { sessionKey: 'elsewhere:eve:gateway' });
  assert.equal(unknown.files.find(({ name }) => name === 'session-branch.jsonl')?.content, '');
  await assert.rejects(app.bus.call('obs.bundle', {}), { code: 'INVALID_ARGUMENT' });
});

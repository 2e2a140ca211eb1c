import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream, type UpstreamBehaviour } from '@switchyard/testkit';
import { PAGE_TOOL, startWithPage, TRANSFER_TOOL } from '../screening/taint.fixture.ts';

const PARENT = 'agent:scripted:default:test:parent';
const say = (text: string): UpstreamBehaviour => ({ kind: 'text', text });
const use = (name: string, input: object = {}): UpstreamBehaviour => ({ kind: 'tools', calls: [{ name, arguments: input }] });
const transfer = use(TRANSFER_TOOL, { _confirmed: true });

/** Starts a run whose model calls tools as given. The turn that hears its result asks for a destructive call. */
async function startRun({ tools, approvals = false }: { tools: UpstreamBehaviour[]; approvals?: boolean }) {
  await using starting = new AsyncDisposableStack();
  const upstream = starting.use(await startUpstream());
  upstream.respond(say('hello'), ...tools, say('the price is 5'), transfer, say('went on'));
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  const started = starting.use(
    await startWithPage({
      page: 'a price list',
      agent: { model: 'm', provider: 'local', skills: { toolPolicy: { profile: 'full' } } },
      settings: {
        providers: { entries },
        approvals: { enabled: approvals },
        security: { agentToAgent: { subAgentToolGroups: ['full'] } },
      },
    }),
  );
  const { app, calls } = started;
  await app.bus.call('session.send', { key: PARENT, message: 'hello' });
  await app.nextEvent('turn:ended');
  const { runId } = await app.bus.call('session.spawn', { parentKey: PARENT, task: 'find the price' });
  const disposed = starting.move();
  return {
    app,
    runId,
    /** Names of the executed tools, in order. */
    calls,
    /** Resolves when the turn that hears the result has ended. */
    async waitForAnnouncement(): Promise<void> {
      while ((await app.nextEvent('turn:ended')).sessionKey !== PARENT);
    },
    /** Returns the messages of the last model call as JSON. */
    getLastPrompt: () => JSON.stringify(upstream.requests.at(-1)?.body.messages),
    [Symbol.asyncDispose]: () => disposed.disposeAsync(),
  };
}

test('the result of a run that read text from outside taints the turn that hears it', async () => {
  await using run = await startRun({ tools: [use(PAGE_TOOL)] });
  await run.waitForAnnouncement();
  assert.deepEqual(run.calls, [PAGE_TOOL]);
  assert.match(
    run.getLastPrompt(),
    new RegExp(`run ${run.runId} .*PERMISSION_DENIED: ${TRANSFER_TOOL} is destructive, and this turn has read text from outside`),
  );
});

test('with approvals the call of a turn that heard such a result waits for a person', async () => {
  await using run = await startRun({ tools: [use(PAGE_TOOL)], approvals: true });
  const { requestId, tainted } = await run.app.nextEvent('approval:requested');
  assert.equal(tainted, true);
  assert.deepEqual(run.calls, [PAGE_TOOL]);
  await run.app.bus.call('admin.approval.resolve', { id: requestId, approved: true });
  await run.waitForAnnouncement();
  assert.deepEqual(run.calls, [PAGE_TOOL, TRANSFER_TOOL]);
});

test('the result of a run that read nothing from outside taints no turn', async () => {
  await using run = await startRun({ tools: [use('session_status')] });
  await run.waitForAnnouncement();
  assert.deepEqual(run.calls, [TRANSFER_TOOL]);
  assert.match(run.getLastPrompt(), new RegExp(`run ${run.runId} `));
});

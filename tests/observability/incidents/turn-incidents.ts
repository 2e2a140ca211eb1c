import assert from 'node:assert/strict';
import { explainScript, script, SCRIPTED, type TurnIncident } from './incident.ts';
import { startObserved, waitForReport, waitUntil } from '../observed-sessions.ts';

const STATUS = { tool: { name: 'session_status', input: {} } };
const destroy = { tool: { name: 'dev_destroy', input: { name: 'a' } } };
const failingCalls = Array.from({ length: 7 }, (_, n) => [{ text: `try ${n}` }, { tool: { name: 'session_status', input: [n] } }]);
const longResults = Array.from({ length: 3 }, (_, n) => [{ tool: { name: 'dev_look', input: { name: `long${n}`, chars: 120_000 } } }]);

/** Failures of tools, limits and approvals. */
export const TURN_INCIDENTS: readonly TurnIncident[] = [
  {
    name: 'the same tool call fails until its breaker opens',
    verdict: 'breaker_opened_repeated_failure',
    stage: () => explainScript([...failingCalls.flat(), { text: 'gave up' }]),
    check({ breakerTimeline, outcome }) {
      const events = breakerTimeline.map(({ event, toolName }) => [event, toolName]);
      assert.deepEqual(events, [['opened', 'session_status']]);
      assert.equal(outcome.endReason, 'completed_with_tool_errors');
    },
  },
  {
    name: 'a tool fails once',
    verdict: 'completed_with_tool_errors',
    stage: () => explainScript([{ tool: { name: 'no_such_tool', input: {} } }, { text: 'went on' }]),
    check({ failures, toolStats }) {
      const [failure] = failures;
      assert.deepEqual([failure?.toolName, failure?.transportOk, failure?.errorKind], ['no_such_tool', false, 'precondition']);
      assert.match(failure?.errorPreview ?? '', /digest [0-9a-f]{12}/);
      assert.deepEqual(toolStats['no_such_tool'], { ok: 0, failed: 1, topErrorKind: 'precondition' });
    },
  },
  {
    name: 'a tool exceeds its time limit',
    verdict: 'provider_timeout',
    stage: () => explainScript([{ tool: { name: 'dev_look', input: { name: 'slow', waitMs: 60_000 } } }, { text: 'went on' }]),
    check: ({ failures }) => assert.equal(failures[0]?.errorKind, 'timeout'),
  },
  {
    name: 'tool results fill the context',
    verdict: 'context_bloat',
    stage: () => explainScript([...longResults.flat(), { text: 'read them' }], { agent: { ...SCRIPTED, maxSteps: 1 } }),
    check: ({ offloads }) => assert.deepEqual([offloads.length, (offloads[0]?.originalChars ?? 0) > 100_000], [3, true]),
  },
  {
    name: 'the model sends no data',
    verdict: 'prompt_timeout',
    stage: () => explainScript([{ wait: 60_000 }], { agent: { ...SCRIPTED, promptTimeout: { promptTimeoutMs: 80 } } }),
    check: ({ likelyRootCause }) => assert.match(likelyRootCause?.detail ?? '', /stalled/),
  },
  {
    name: 'the turn reaches its makespan',
    verdict: 'prompt_timeout',
    stage: () => explainScript([{ text: 'half' }, { wait: 60_000 }], { timing: { turnDeadlineMs: 150 } }),
    check: ({ likelyRootCause }) => assert.match(likelyRootCause?.detail ?? '', /makespan/),
  },
  {
    name: 'the token budget of the turn is spent',
    verdict: 'budget_exceeded',
    stage: () =>
      explainScript([{ text: 'let me see' }, STATUS, { text: 'never said' }], { agent: { ...SCRIPTED, budgets: { perExecution: 1 } } }),
  },
  {
    name: 'an approval expires',
    verdict: 'approval_denied',
    stage: () => explainScript([destroy, { text: 'went on' }], { settings: { approvals: { enabled: true, defaultTimeoutMs: 50 } } }),
    check: ({ likelyRootCause }) => assert.match(likelyRootCause?.detail ?? '', /APPROVAL_EXPIRED/),
  },
  {
    name: 'a person denies an approval',
    verdict: 'approval_denied',
    async stage() {
      await using app = await startObserved({ agent: SCRIPTED, settings: { approvals: { enabled: true } } });
      const turn = app.bus.call('agent.execute', { message: script(destroy, { text: 'went on' }) });
      await waitUntil(async () => (await app.bus.call('admin.approval.pending', {})).total === 1, 'the request');
      await app.bus.call('admin.approval.resolveAll', { approved: false, reason: 'maintenance' });
      await turn;
      return await waitForReport(app, 1);
    },
    check: ({ likelyRootCause }) => assert.match(likelyRootCause?.detail ?? '', /APPROVAL_DENIED/),
  },
];

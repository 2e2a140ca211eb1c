import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { memory } from '@switchyard/contracts';
import { startUpstream, tempDir, type UpstreamBehaviour } from '@switchyard/testkit';
import { explainTurn, startObserved, waitForReport, type Report } from './observed-sessions.ts';

// Each verdict comes from a turn that really failed so.

const script = (...steps: object[]): string => JSON.stringify(steps);
const SCRIPTED = { model: 'dev/scripted' };
const LOCAL = { provider: 'local', model: 'm', sdkRetry: { enabled: false, maxRetries: 0 } };

function getCode({ likelyRootCause, suggestedNextSteps }: Report): string | undefined {
  assert.deepEqual(suggestedNextSteps, likelyRootCause?.suggestedNextSteps ?? []);
  return likelyRootCause?.code;
}

async function explainUpstream(...behaviours: UpstreamBehaviour[]): Promise<Report> {
  await using upstream = await startUpstream(...behaviours);
  const entries = {
    local: { type: 'openai-compatible' as const, baseUrl: upstream.url, maxRetries: 0, models: [{ id: 'm', contextWindow: 4_000 }] },
  };
  await using app = await startObserved({ agent: LOCAL, settings: { providers: { entries } } });
  return await explainTurn(app, 'hello');
}

test('a provider that fails is provider_down', async () => {
  const report = await explainUpstream({ kind: 'status', status: 503 });
  assert.equal(getCode(report), 'provider_down');
  assert.deepEqual(report.outcome, { endReason: 'error', degraded: true, severity: 'failed' });
});

test('a response that is cut is provider_down', async () => {
  assert.equal(getCode(await explainUpstream({ kind: 'cut', text: 'half of it', afterTokens: 1 })), 'provider_down');
});

test('a refused key is provider_auth', async () => {
  assert.equal(getCode(await explainUpstream({ kind: 'status', status: 401 })), 'provider_auth');
});

test('a rate limit is provider_rate_limited', async () => {
  assert.equal(getCode(await explainUpstream({ kind: 'status', status: 429 })), 'provider_rate_limited');
});

test('a rejected tool schema is tool_schema_unsupported', async () => {
  const message = "Invalid schema for function 'web_fetch': 'oneOf' is not permitted.";
  assert.equal(getCode(await explainUpstream({ kind: 'status', status: 400, message })), 'tool_schema_unsupported');
});

test('another rejection is outcome_unresolved', async () => {
  assert.equal(getCode(await explainUpstream({ kind: 'status', status: 400, message: 'no' })), 'outcome_unresolved');
});

test('a truncated answer is output_starved', async () => {
  const report = await explainUpstream({ kind: 'text', text: 'half', finish: 'length' });
  assert.equal(getCode(report), 'output_starved');
  assert.deepEqual(report.outcome, { endReason: 'output_starved', degraded: true, severity: 'degraded' });
});

test('a prompt beyond the window is context_exhausted with its budget', async () => {
  await using upstream = await startUpstream();
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm', contextWindow: 4_000 }] } };
  await using app = await startObserved({ agent: LOCAL, settings: { providers: { entries } } });
  const report = await explainTurn(app, 'x'.repeat(4 * 3_300));
  assert.equal(getCode(report), 'context_exhausted');
  assert.deepEqual([report.contextBudget?.windowTokens, report.contextBudget?.verdict], [4_000, 'exhausted']);
  assert.ok((report.contextBudget?.assembledInputTokens ?? 0) > 3_000);
});

test('a breaker that opens is breaker_opened_repeated_failure, with its timeline', async () => {
  await using app = await startObserved({ agent: SCRIPTED });

  const report = await explainTurn(
    app,
    script(...Array.from({ length: 7 }, (_, n) => [{ text: `try ${n}` }, { tool: { name: 'session_status', input: [n] } }]).flat(), {
      text: 'gave up',
    }),
  );
  assert.equal(getCode(report), 'breaker_opened_repeated_failure');
  assert.deepEqual(
    report.breakerTimeline.map(({ event, toolName }) => [event, toolName]),
    [['opened', 'session_status']],
  );
  assert.equal(report.outcome.endReason, 'completed_with_tool_errors');
});

test('a tool that fails once is completed_with_tool_errors, with a digest and no output', async () => {
  await using app = await startObserved({ agent: SCRIPTED });
  const report = await explainTurn(app, script({ tool: { name: 'no_such_tool', input: {} } }, { text: 'went on' }));
  assert.equal(getCode(report), 'completed_with_tool_errors');
  const [failure] = report.failures;
  assert.deepEqual([failure?.toolName, failure?.transportOk, failure?.errorKind], ['no_such_tool', false, 'precondition']);
  assert.match(failure?.errorPreview ?? '', /digest [0-9a-f]{12}/);
  assert.deepEqual(report.toolStats['no_such_tool'], { ok: 0, failed: 1, topErrorKind: 'precondition' });
});

test('a silent model is prompt_timeout by stall', async () => {
  await using app = await startObserved({ agent: { ...SCRIPTED, promptTimeout: { promptTimeoutMs: 80 } } });
  const report = await explainTurn(app, script({ wait: 60_000 }));
  assert.equal(getCode(report), 'prompt_timeout');
  assert.match(report.likelyRootCause?.detail ?? '', /stalled/);
});

test('a turn beyond its deadline is prompt_timeout by makespan', async () => {
  await using app = await startObserved({ agent: SCRIPTED, timing: { turnDeadlineMs: 150 } });
  const report = await explainTurn(app, script({ text: 'half' }, { wait: 60_000 }));
  assert.equal(getCode(report), 'prompt_timeout');
  assert.match(report.likelyRootCause?.detail ?? '', /makespan/);
});

test('a spent budget is budget_exceeded', async () => {
  await using app = await startObserved({ agent: { ...SCRIPTED, budgets: { perExecution: 1 } } });
  const message = script({ text: 'let me see' }, { tool: { name: 'session_status', input: {} } }, { text: 'never said' });
  const report = await explainTurn(app, message);
  assert.equal(getCode(report), 'budget_exceeded');
  assert.equal(report.outcome.severity, 'degraded');
});

test('a denied call is approval_denied', async () => {
  await using app = await startObserved({ agent: SCRIPTED, settings: { approvals: { enabled: true, defaultTimeoutMs: 50 } } });
  const report = await explainTurn(app, script({ tool: { name: 'dev_destroy', input: { name: 'a' } } }, { text: 'went on' }));
  assert.equal(getCode(report), 'approval_denied');
});

test('a runner that is killed in a step is runner_lost', async () => {
  await using directory = await tempDir();
  await using upstream = await startUpstream({ kind: 'stall' }, { kind: 'text', text: 'after the kill' });
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  const options = { agent: LOCAL, settings: { providers: { entries } } };
  const [first, second] = [join(directory.path, 'first'), join(directory.path, 'second')];
  {
    await using app = await startObserved({ ...options, data: first });
    const running = app.bus.call('agent.execute', { message: 'hello' }).catch(() => undefined);
    await upstream.firstRequest;
    // The files of a process that is killed now.
    cpSync(first, second, { recursive: true });
    void running;
  }
  await using app = await startObserved({ ...options, data: second });
  assert.equal(getCode(await waitForReport(app, 1)), 'runner_lost');
});

test('a failed turn without any memory is recall_miss', async () => {
  await using app = await startObserved({ agent: { ...SCRIPTED, maxSteps: 1, rag: { enabled: true } } });
  const nothing = { entries: [], empty: false, textCandidates: 0, vectorCandidates: 0 };
  const handlers = { 'memory.recall': () => nothing, 'memory.capture': () => ({ stored: 0 }) };
  await (await app.host.connect('memory')).serve(memory, handlers, { version: '0.0.0' });
  const report = await explainTurn(app, script({ tool: { name: 'session_status', input: {} } }, { text: 'never said' }));
  assert.equal(report.outcome.endReason, 'max_steps');
  assert.equal(getCode(report), 'recall_miss');
});

test('a good turn has no root cause, and the same session gives the same bytes', async () => {
  await using app = await startObserved({ agent: SCRIPTED });
  const report = await explainTurn(app, script({ tool: { name: 'session_status', input: {} } }, { text: 'done' }));
  assert.equal(report.likelyRootCause, null);
  assert.deepEqual(report.outcome, { endReason: 'completed', degraded: false, severity: 'ok' });
  assert.equal(report.waterfall?.length, 2);
  assert.ok(report.waterfall?.[1]?.startMs !== undefined);
  const { sessionKey } = report;
  assert.ok(sessionKey);
  const again = await app.bus.call('obs.explain', { sessionKey, depth: 'full' });
  assert.equal(JSON.stringify(again), JSON.stringify(report));
});

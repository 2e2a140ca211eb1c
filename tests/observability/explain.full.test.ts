import assert from 'node:assert/strict';
import { test } from 'node:test';
import { script, SCRIPTED } from './incidents/incident.ts';
import { explainTurn, startObserved } from './observed-sessions.ts';

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

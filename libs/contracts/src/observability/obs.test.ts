import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MethodSpec } from '../definition/define.ts';
import { publicMethods } from '../catalog/contracts.ts';

function getSpec(name: string): MethodSpec {
  return publicMethods.get(name)?.spec as MethodSpec;
}

const windows: [method: string, params: object][] = [
  ['obs.billing.total', { sinceMs: 0 }],
  ['obs.billing.byProvider', { sinceMs: 0 }],
  ['obs.billing.byAgent', { agentId: 'default', sinceMs: 0 }],
  ['obs.billing.bySession', { sessionKey: 'default:alice:gateway', sinceMs: 0 }],
  ['obs.delivery.recent', { sinceMs: 0 }],
  ['obs.diagnostics', { sinceMs: 0 }],
  ['obs.channels.stale', { thresholdMs: 0 }],
  ['obs.trace.search', { since: '0s' }],
  ['subagent.list', { recentMinutes: 0 }],
  ['graph.status', { recentMinutes: 0 }],
  ['session.list', { since_minutes: 0 }],
];

test('every window may be 0 long, which is now', () => {
  for (const [name, params] of windows) assert.equal(getSpec(name).params.safeParse(params).success, true, name);
});

test('a rate of savings goes below zero where caching cost more than it saved, and never above 1', () => {
  const { result, examples } = getSpec('agent.cacheStats');
  const stats = examples[0]?.result as { providers: object[] };
  const withRate = (cacheHitRate: number): unknown => ({ ...stats, providers: [{ ...stats.providers[0], cacheHitRate }] });
  assert.deepEqual(
    [-0.4, 1, 1.1].map((rate) => result.safeParse(withRate(rate)).success),
    [true, true, false],
  );
});

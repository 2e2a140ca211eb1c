import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig, TurnEvidence } from '@switchyard/contracts';
import { principal, startUpstream } from '@switchyard/testkit';
import { turnCollection } from '../model/turn-document.ts';
import { testSessions } from '../sessions.fixture.ts';
import { createPlanTracker, extractSteps } from './step-plan.ts';

const admin = principal({ scopes: ['*'] });
const sep = AgentConfig.parse({}).sep;
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `${n + 1}. do thing ${n + 1}`).join('\n');

test('extracts a numbered or bulleted list of minSteps to maxSteps items and ignores nested items', () => {
  const counts = [
    numbered(2),
    numbered(3),
    numbered(15),
    numbered(16),
    'I look first, then I write.',
    'So:\n- one\n- two\n  - of it\n- three\ndone',
    '  * a\n  * b\n  * c',
    '1) a\n   - why\n2) b\n   - why\n3) c',
    '- a\n- b',
    `${'x'.repeat(20_000)}\n${numbered(3)}`,
  ].map((text) => extractSteps(text, sep)?.length);
  assert.deepEqual(counts, [undefined, 3, 15, undefined, undefined, 3, 3, 3, undefined, undefined]);
  assert.equal(extractSteps(numbered(5), { ...sep, enabled: false }), undefined);
  assert.equal(extractSteps(numbered(2), { ...sep, minSteps: 2 })?.length, 2);
  assert.equal(extractSteps(numbered(5), { ...sep, maxSteps: 4 }), undefined);
});

test('searches a long text without a plan quickly', () => {
  const began = performance.now();
  for (const text of [' '.repeat(20_000), '1'.repeat(20_000), '- '.repeat(10_000), '1. '.repeat(6_000)]) extractSteps(text, sep);
  assert.ok(performance.now() - began < 2_000);
});

test('only text before the first tool call is a plan; a resumed turn has had it', () => {
  const [late, taken] = [createPlanTracker(sep, 0), createPlanTracker(sep, 2)];
  late.addText(1, 'I look.');
  late.addText(2, numbered(3));
  taken.addText(3, numbered(3));
  assert.deepEqual([late.plan(3, true), taken.plan(4, true)], [undefined, undefined]);
});

test('the trace contains digests of the plan, and with verificationNudge whether the turn ended early', async () => {
  const plans: TurnEvidence['plan'][] = [];
  for (const more of [{}, { verificationNudge: false }, { minSteps: 4 }, { maxSteps: 3, minSteps: 2 }, { enabled: false }]) {
    await using upstream = await startUpstream({ kind: 'text', text: 'Done.' });
    const entries = { local: { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'm', contextWindow: 128_000 }] } };
    const config = { provider: 'local', model: 'm', sep: more };
    await using app = await testSessions({ as: admin, settings: { providers: { entries } }, agents: { default: config } });
    const text = numbered(more.maxSteps === 3 ? 4 : 3);
    upstream.respond({ kind: 'tools', calls: [{ name: 'session_status', arguments: {} }], text }, { kind: 'text', text: 'Done.' });
    await app.bus.call('agent.execute', { message: 'go' });
    const store = await app.host.store('sessions');
    const { turns } = await store.open({ turns: turnCollection });
    const [{ trace = '{}' } = {}] = (await turns.for(admin).find({}, { limit: 1 })).items;
    await store.close();
    assert.ok(!trace.includes('do thing'));
    plans.push(TurnEvidence.parse(JSON.parse(trace)).plan);
  }
  const [first, quiet, ...none] = plans;
  assert.deepEqual([first?.steps, first?.after, first?.early], [3, 1, true]);
  assert.equal(new Set(first?.digests).size, 3);
  for (const digest of first?.digests ?? []) assert.match(digest, /^[0-9a-f]{12}$/);
  assert.deepEqual([quiet?.steps, quiet?.early], [3, undefined]);
  assert.deepEqual(none, [undefined, undefined, undefined]);
});

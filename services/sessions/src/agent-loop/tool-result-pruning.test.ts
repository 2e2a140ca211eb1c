import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig } from '@switchyard/contracts';
import type { ModelMessage } from '@switchyard/models';
import { createPruning } from './tool-result-pruning.ts';

const answer = (name: string, result: unknown): ModelMessage => ({ role: 'tool', callId: name, name, result, failed: false });
const filler = (count: number): ModelMessage[] => Array.from({ length: count }, () => ({ role: 'user', text: 'go on' }));
const step: ModelMessage = { role: 'assistant', text: '', toolCalls: [] };

function toldWith(config: object, messages: readonly ModelMessage[], { window, from = 0 }: { window?: number; from?: number } = {}) {
  return createPruning({ config: AgentConfig.parse(config), window }, from).apply(messages);
}

/** Returns the first tool result as the model receives it. */
function first(config: object, result: unknown, behind = 6): string {
  const [promptMessage] = toldWith(config, [answer('look', result), ...filler(behind)]);
  return promptMessage?.role === 'tool' ? String(promptMessage.result) : '';
}

const LONG = `${'a'.repeat(4_500)}${'z'.repeat(4_500)}`;

test('trims results above 8,000 characters and clears those above 30,000', () => {
  assert.equal(first({}, 'x'.repeat(8_000)).length, 8_000);
  const trimmed = first({}, LONG);
  assert.match(trimmed, /^a{500}… \[trimmed: 8000 characters removed\] …z{500}$/);
  assert.equal(first({}, 'x'.repeat(30_001)), '[cleared: a result of look with 30001 characters]');
  assert.match(first({}, { rows: LONG }), /^\{"rows":"a{491}… /);
});

test('changes only copies; the last six messages and everything before the turn stay complete', () => {
  const messages = [answer('look', LONG), ...filler(6)];
  const sent = toldWith({}, messages);
  assert.notEqual(sent, messages);
  assert.deepEqual(messages[0], answer('look', LONG));
  assert.equal(first({}, LONG, 5), LONG);
  assert.equal(toldWith({}, messages, { from: 1 }), messages);
  assert.equal(toldWith({}, filler(9)).length, 9);
});

test('applies the agent’s limits and tool lists', () => {
  const pruning = (rest: object) => ({ session: { pruning: rest } });
  assert.equal(first(pruning({ enabled: false }), LONG), LONG);
  assert.equal(first(pruning({ softTrimThresholdChars: 10_000 }), LONG), LONG);
  assert.match(first(pruning({ hardClearThresholdChars: 8_500 }), LONG), /^\[cleared/);
  assert.match(first(pruning({ preserveHeadChars: 3, preserveTailChars: 2 }), LONG), /^aaa… .* …zz$/);
  assert.equal(first(pruning({ protectedTools: ['look'] }), LONG), LONG);
  assert.equal(first(pruning({ pruneableTools: ['other'] }), LONG), LONG);
  assert.match(first(pruning({ pruneableTools: ['look'] }), LONG), /trimmed/);
  assert.equal(first(pruning({ preserveRecentCount: 7 }), LONG), LONG);
  assert.equal(first({ preserveRecent: 7 }, LONG), LONG);
});

test('keeps protected images complete, and treats no text as an image', () => {
  const image = { content: [{ type: 'image', data: LONG }] };
  const [kept] = toldWith({}, [answer('look', image), ...filler(6)]);
  assert.deepEqual(kept, answer('look', image));
  assert.match(first({ session: { pruning: { protectImageBlocks: false } } }, image), /trimmed/);
  assert.match(first({}, `"type":"image"${LONG}`), /trimmed/);
});

test('trims and then clears older results as the window fills up, except those of protected tools', () => {
  const off = { session: { pruning: { enabled: false } }, preserveRecent: 0 };
  const messages = [answer('look', LONG), answer('memory_search', LONG), step, step, step];
  const sent = (window: number, config: object = off) =>
    toldWith(config, messages, { window }).map((one) => (one.role === 'tool' ? String(one.result).length : 0));
  assert.deepEqual(sent(18_000).slice(0, 2), [9_000, 9_000], 'a quarter full');
  assert.match(String(toldWith(off, messages, { window: 11_000 }).map((one) => (one.role === 'tool' ? one.result : ''))[0]), /^a{500}… /);
  assert.deepEqual([sent(8_000)[0]! < 60, sent(8_000)[1]], [true, 9_000], 'more than half full');
  for (const [reason, config] of Object.entries({
    'switched off': { ...off, contextPruning: { enabled: false } },
    'fuller allowed': { ...off, contextPruning: { softTrimRatio: 0.9, hardClearRatio: 0.9 } },
    'longer allowed': { ...off, contextPruning: { minPrunableToolChars: 10_000 } },
    'more answers kept': { ...off, contextPruning: { keepLastAssistants: 4 } },
    'more messages kept': { ...off, preserveRecent: 5 },
    'this one protected': { ...off, contextPruning: { protectedTools: ['look', 'memory.search'] } },
  }))
    assert.equal(sent(8_000, config)[0], 9_000, reason);
});

test('keeps the reference to the stored rest of a cleared result', () => {
  const pointer = '[truncated: 90 of 200 characters follow. ctx_result {"id":"b","offset":100} returns the next part.]';
  assert.equal(first({}, `${'x'.repeat(40_000)}… ${pointer}`), `[cleared: a result of look with 40101 characters] ${pointer}`);
});

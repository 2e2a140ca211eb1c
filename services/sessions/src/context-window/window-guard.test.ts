import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelMessage } from '@switchyard/models';
import { countMessageChars, createGauge } from './window-guard.ts';

const long = 'x'.repeat(4_000);
const call = { callId: 'a', name: 'write', text: JSON.stringify({ content: long }), input: { content: long } };

test('counts everything that the model reads again: texts, results, tool calls and fields of the provider', () => {
  const messages: ModelMessage[] = [
    { role: 'user', text: long },
    { role: 'tool', callId: 'a', name: 'write', result: { content: long }, failed: false },
    { role: 'assistant', text: '', toolCalls: [call] },
    { role: 'assistant', text: '', providerFields: { provider: 'lab', fields: { reasoning_content: long } } },
  ];
  for (const message of messages) assert.ok(countMessageChars(message) >= long.length, message.role);
  const gauge = createGauge({ window: 1_500, warnPercent: 80, blockPercent: 100 });
  for (const message of messages) assert.equal(gauge.fits([message, message]), false, message.role);
  assert.equal(gauge.fits([{ role: 'assistant', text: 'short' }]), true);
});

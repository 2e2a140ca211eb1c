import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownConfig } from './shown-config.ts';

test('what is secret by its name, and every header, is not shown', () => {
  const config = {
    botToken: 'hush',
    name: 'oslo',
    entries: { local: { baseUrl: 'http://127.0.0.1:1', headers: { 'x-team': 'hush', Authorization: 'Bearer hush' } } },
    headers: { nested: { deep: 'hush' } },
  };
  assert.deepEqual(shownConfig(config), {
    botToken: '[REDACTED]',
    name: 'oslo',
    entries: { local: { baseUrl: 'http://127.0.0.1:1', headers: { 'x-team': '[REDACTED]', Authorization: '[REDACTED]' } } },
    headers: { nested: '[REDACTED]' },
  });
});

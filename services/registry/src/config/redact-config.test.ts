import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redactConfig } from './redact-config.ts';

test('redactConfig hides values under secret names, headers, variables and passwords in URLs', () => {
  const config = {
    botToken: 'hush',
    name: 'oslo',
    entries: { local: { baseUrl: 'http://127.0.0.1:1', headers: { 'x-team': 'hush', Authorization: 'Bearer hush' } } },
    headers: { nested: { deep: 'hush' } },
    servers: [{ env: { WHATEVER: 'hush' }, url: 'https://me:hush@example.org/x' }],
  };
  assert.deepEqual(redactConfig(config), {
    botToken: '[REDACTED]',
    name: 'oslo',
    entries: { local: { baseUrl: 'http://127.0.0.1:1', headers: { 'x-team': '[REDACTED]', Authorization: '[REDACTED]' } } },
    headers: { nested: '[REDACTED]' },
    servers: [{ env: { WHATEVER: '[REDACTED]' }, url: 'https://me:[REDACTED]@example.org/x' }],
  });
});

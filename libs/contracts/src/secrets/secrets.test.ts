import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionsEvents } from '../sessions/events.ts';
import { parseParams } from '../validation.ts';
import { envMethods } from './env.ts';
import { secretsEvents } from './events.ts';

test('every name of a file of secrets is listed, and only upper-case names are set', () => {
  const listed = {
    secrets: ['OPENAI_API_KEY', 'lower.case-name', '1ST'].map((name) => ({ name, source: 'envfile' })),
    total: 3,
    truncated: false,
  };
  assert.equal(envMethods['env.list'].result.safeParse(listed).success, true);
  const set = (key: string) => parseParams(envMethods['env.set'].params, { key, value: 'x' });
  assert.equal(set('OPENAI_API_KEY').key, 'OPENAI_API_KEY');
  for (const key of ['openai_api_key', '1ST', '_X', 'A-B', '']) assert.throws(() => set(key), /^ServiceError: Invalid params: key: /, key);
});

test('an event about secrets names an agent only where one is involved', () => {
  const timestamp = 1763719200000;
  const accessed = { secretName: 'OPENAI_API_KEY', outcome: 'success', timestamp };
  assert.deepEqual(secretsEvents['secret:accessed'].payload.parse(accessed), accessed);
  const warned = { category: 'listening', message: 'the edge listens on all addresses without TLS', timestamp };
  assert.deepEqual(sessionsEvents['security:warn'].payload.parse(warned), warned);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MethodSpec } from '../definition/define.ts';
import { callables } from '../catalog/contracts.ts';
import { sessionsEvents } from '../sessions/events.ts';
import { parseParams } from '../definition/validation.ts';
import { envMethods } from './env.ts';
import { secretsEvents } from './events.ts';
import { SEALING_KEY } from './operations.ts';

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

test('secret fields are declared with the method and can be sealed', () => {
  const sealing = [...callables.values()].filter(({ sealed }) => sealed !== undefined);
  assert.deepEqual(
    sealing.map(({ name, sealed }) => [name, sealed?.params, sealed?.result]),
    [
      ['tokens.create', [], ['secret']],
      ['tokens.rotate', [], ['secret']],
      ['env.set', ['value'], []],
    ],
  );
  for (const { name, sealed, service, streams, large, spec } of sealing) {
    const texts = [...(sealed?.params ?? []), ...(sealed?.result ?? [])];
    assert.deepEqual((spec as MethodSpec).sealed, texts, `${name} has the members it names`);
    assert.ok(!streams && !(sealed?.params.length && large.params) && !(sealed?.result.length && large.result), `${name} fits one message`);
    if (sealed?.params.length) assert.equal(callables.get(SEALING_KEY)?.service, service, `${name} is answered where the key comes from`);
  }
});

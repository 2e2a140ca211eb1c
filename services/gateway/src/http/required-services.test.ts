import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Replica } from '@switchyard/contracts';
import { watchRequiredServices } from './required-services.ts';

const SESSIONS = { service: 'sessions', replica: 'sessions-1' } as Replica;

test('a service that answers late on a busy machine keeps the gateway ready', async (t) => {
  let polls = 0;
  const enough = Promise.withResolvers<void>();
  const states: boolean[] = [];
  const discover = (): Promise<Replica[]> => {
    polls += 1;
    if (polls === 8) enough.resolve();
    return Promise.resolve(polls === 1 ? [SESSIONS] : []);
  };
  const health = { set: (_name: string, ready: boolean) => void states.push(ready) };
  const watch = await watchRequiredServices({ bus: { discover }, health, needs: ['sessions'], intervalMs: 10 });
  t.after(() => watch[Symbol.dispose]());
  await enough.promise;
  assert.deepEqual(states.slice(0, 2), [false, true], 'not ready before the first answer');
  assert.ok(!states.slice(1).includes(false), 'the gateway stays ready');
});

test('a service that never answered keeps the gateway from being ready', async () => {
  const states: boolean[] = [];
  const health = { set: (_name: string, ready: boolean) => void states.push(ready) };
  const bus = { discover: () => Promise.resolve([]) };
  using _ = await watchRequiredServices({ bus, health, needs: ['sessions'], intervalMs: 10 });
  assert.deepEqual(states, [false, false]);
});

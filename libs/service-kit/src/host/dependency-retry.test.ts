import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { createHealthRegistry } from '../health/health-registry.ts';
import { reach } from './dependency-retry.ts';

const log = silentLogger();

test('retries an unreachable dependency and reports it as not ready', async () => {
  const health = createHealthRegistry();
  const seen: boolean[] = [];
  let attempts = 0;
  const value = await reach(
    async () => {
      seen.push(health.readiness().ready);
      if (++attempts === 1) throw new ServiceError('UNAVAILABLE', 'nobody there');
      return 'reached';
    },
    { dependency: 'bus', health, log },
  );
  assert.deepEqual([value, seen], ['reached', [false, false]]);
  assert.equal(health.readiness().ready, true);
});

test('throws a permanent error at once', async () => {
  const health = createHealthRegistry();
  await assert.rejects(
    reach(() => Promise.reject(new ServiceError('FAILED_PRECONDITION', 'wrong URL')), { dependency: 'store', health, log }),
    /wrong URL/,
  );
});

test('stops waiting on abort', async () => {
  const health = createHealthRegistry();
  const ending = new AbortController();
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  const waiting = reach(() => Promise.reject(refused), { dependency: 'bus', health, log, signal: ending.signal });
  const hanging = reach(() => new Promise(() => undefined), { dependency: 'bus', health, log, signal: ending.signal });
  ending.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  await assert.rejects(hanging, { name: 'AbortError' });
  await assert.rejects(
    reach(() => new Promise(() => undefined), { dependency: 'bus', health, log, signal: ending.signal }),
    { name: 'AbortError' },
  );
});

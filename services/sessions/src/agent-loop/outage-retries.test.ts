import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import type { ModelEnd, ModelRequest, OnDelta } from '@switchyard/models';
import { systemClock } from '@switchyard/service-kit';
import { retryDuringOutages } from './outage-retries.ts';

const request = {} as ModelRequest;
const END = { reason: 'stop' } as unknown as ModelEnd;

const away = (details: Record<string, unknown>, code: 'UNAVAILABLE' | 'DEADLINE_EXCEEDED' = 'UNAVAILABLE') =>
  new ServiceError(code, 'away', { details });

/** Calls a model that fails for `awayMs` of a clock that jumps over each pause. Returns the time that passed and the outcome. */
async function callDuring(
  awayMs: number,
  error: (now: number) => ServiceError,
  { remainingMs = Infinity, output = false, abortAt = Infinity } = {},
): Promise<{ now: number; calls: number; outcome: unknown }> {
  let [now, calls] = [0, 0];
  const controller = new AbortController();
  const clock = {
    ...systemClock,
    now: () => now,
    after(ms: number, ready: () => void) {
      now += ms;
      if (now >= abortAt) controller.abort();
      queueMicrotask(ready);
      return () => undefined;
    },
  };
  const call = (onDelta: OnDelta): Promise<ModelEnd> => {
    calls += 1;
    if (output) onDelta('text', 'text');
    return now < awayMs ? Promise.reject(error(now)) : Promise.resolve(END);
  };
  const models = { streamTo: (_: ModelRequest, onDelta: OnDelta) => call(onDelta), complete: () => Promise.reject(new Error('unused')) };
  const options = { clock, signal: controller.signal, remainingMs: () => remainingMs - now, onRetry: () => undefined };
  const outcome: unknown = await retryDuringOutages(models, options)
    .streamTo(request, () => true)
    .catch((thrown: unknown) => thrown);
  return { now, calls, outcome };
}

test('waits for a provider and for services that are away for twenty seconds', async () => {
  const outages = [
    away({ reason: 'PROVIDER_UNREACHABLE', networkCode: 'ECONNREFUSED' }),
    away({ reason: 'NO_RESPONDERS' }),
    away({ reason: 'CALL_SILENT' }),
    away({}, 'DEADLINE_EXCEEDED'),
  ];
  for (const outage of outages) assert.equal((await callDuring(20_000, () => outage)).outcome, END, JSON.stringify(outage.details));
});

test('waits until a breaker that an unreachable provider opened lets a call through', async () => {
  const open = (now: number) => away({ reason: 'CIRCUIT_OPEN', cause: 'PROVIDER_UNREACHABLE', retryAfterMs: 60_000 - now });
  const { now, calls, outcome } = await callDuring(60_000, open);
  assert.deepEqual([now, calls, outcome], [60_000, 2, END]);
});

test('gives up after the window of the fault, and before the deadline of the turn', async () => {
  const unreachable = away({ reason: 'PROVIDER_UNREACHABLE', networkCode: 'ECONNREFUSED' });
  const late = await callDuring(Infinity, () => unreachable);
  assert.equal(late.outcome, unreachable);
  assert.ok(late.now <= 30_000 && late.now > 20_000, `${late.now} ms`);
  const short = await callDuring(Infinity, () => unreachable, { remainingMs: 4_000 });
  assert.ok(short.now < 4_000, `${short.now} ms`);
  const aborted = await callDuring(Infinity, () => unreachable, { abortAt: 1_000 });
  assert.ok(aborted.now < 3_000, `${aborted.now} ms`);
});

test('repeats no other failure, and nothing after the first text', async () => {
  const others = [
    away({ reason: 'PROVIDER_UNAVAILABLE' }),
    away({ reason: 'PROVIDER_UNREACHABLE', networkCode: 'ENOTFOUND' }),
    away({ reason: 'PROVIDER_UNREACHABLE', networkCode: 'ECONNRESET' }),
    away({ reason: 'CIRCUIT_OPEN', cause: 'PROVIDER_UNAVAILABLE', retryAfterMs: 1 }),
    away({ reason: 'MODEL_STALLED' }, 'DEADLINE_EXCEEDED'),
    new ServiceError('FAILED_PRECONDITION', 'no key'),
  ];
  for (const other of others) {
    const { calls, outcome } = await callDuring(20_000, () => other);
    assert.deepEqual([calls, outcome], [1, other], JSON.stringify(other.details));
  }
  assert.equal((await callDuring(20_000, () => away({ reason: 'NO_RESPONDERS' }), { output: true })).calls, 1);
});

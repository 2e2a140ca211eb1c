import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectMemory, createBus, createMemoryHub } from '@switchyard/bus';
import type { EventPayload } from '@switchyard/contracts';
import { createLogger, silentLogger } from '@switchyard/telemetry';
import { emitErrors } from './error-events.ts';

/** A logger whose errors are published on a bus, with the published events. */
async function openErrors() {
  const bus = createBus(connectMemory(createMemoryHub()), { log: silentLogger(), service: 'sessions', checkResults: true });
  const events: EventPayload<'system:error'>[] = [];
  bus.on('system:error', ({ payload }) => void events.push(payload));
  const lines: string[] = [];
  const log = createLogger({ destination: { write: (line) => void lines.push(line) } });
  const time = { at: 0 };
  const emitting = emitErrors({ bus, log, clock: { now: () => time.at } });
  return { bus, log, events, time, lines, emitting, [Symbol.asyncDispose]: () => bus.drain() };
}

test('an error line of a service is published with its text, kind and service', async () => {
  await using app = await openErrors();
  const log = app.log.child({ service: 'sessions' });
  log.error({ err: new Error('key sk-secret'), errorKind: 'dependency' }, 'failed to record model usage');
  log.child({ module: 'store' }).fatal('closed');
  log.warn('not an error');
  app.log.error('without a service');
  await app.bus.flush();
  assert.deepEqual(app.events, [
    { error: { message: 'failed to record model usage', errorKind: 'dependency' }, source: 'sessions' },
    { error: { message: 'closed', errorKind: 'internal' }, source: 'sessions' },
    { error: { message: 'without a service', errorKind: 'internal' }, source: 'process' },
  ]);
  assert.equal(app.lines.length, 4);
});

test('the same error is published once a minute, and not after the process has closed', async () => {
  await using app = await openErrors();
  for (const at of [0, 1_000, 59_999, 60_000]) {
    app.time.at = at;
    app.log.error('the database is away');
  }
  app.emitting[Symbol.dispose]();
  app.log.error('another one');
  await app.bus.flush();
  assert.equal(app.events.length, 2);
});

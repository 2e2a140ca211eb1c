import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contracts, ServiceError } from '@switchyard/contracts';
import type { Ctx } from '../client/bus.ts';
import { isHeartbeat } from '../wire/errors.ts';
import { alice, blockEventLoop, callable, REPEATABLE, untilAborted, to, version, type BusFixture } from './bus-fixture.contract.ts';

/** Deadlines, cancellation and drain, on both sides. */
export function leavingContract({ withBuses, withSecrets }: BusFixture): void {
  test('a call rejects at its deadline and aborts its handler', async () => {
    const stopped = Promise.withResolvers<unknown>();
    await withSecrets(untilAborted(stopped.resolve), async (caller) => {
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }, { timeoutMs: 50 }), {
        code: 'DEADLINE_EXCEEDED',
        message: 'The secrets service did not answer secrets.resolve in time.',
      });
      assert.equal(((await stopped.promise) as { code: string }).code, 'DEADLINE_EXCEEDED');
    });
  });

  test('aborting a call fails it CANCELLED and aborts its handler, on whichever replica it runs', async () => {
    await withBuses(async (join) => {
      const started = Promise.withResolvers<unknown>();
      const stopped = Promise.withResolvers<unknown>();
      for (let replica = 0; replica < 3; replica++) {
        const owner = await join({ service: 'secrets' });
        const resolve = untilAborted(stopped.resolve, started.resolve);
        await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      }
      const caller = await join({ service: 'sessions' });
      const leaving = new AbortController();
      const call = caller.call('secrets.resolve', { name: 'A', to }, { signal: leaving.signal });
      await started.promise;
      leaving.abort();
      await assert.rejects(call, { code: 'CANCELLED' });
      assert.equal(((await stopped.promise) as { code: string }).code, 'CANCELLED');
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }, { signal: leaving.signal }), { code: 'CANCELLED' });
    });
  });

  test('a call made by a handler inherits principal, request and deadline, and ends with it', async () => {
    await withBuses(async (join) => {
      const inner = Promise.withResolvers<Ctx>();
      const stopped = Promise.withResolvers<unknown>();
      const secrets = await join({ service: 'secrets' });
      const resolve = untilAborted(stopped.resolve, inner.resolve);
      await secrets.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      const registry = await join({ service: 'registry' });
      const outerDeadline = Promise.withResolvers<number>();
      await registry.serve(
        contracts.registry,
        {
          async 'models.visible'(_params, { call, deadline }) {
            outerDeadline.resolve(deadline);
            await call('secrets.resolve', { name: 'A', to });
            return { models: [] };
          },
        },
        { version },
      );

      const leaving = new AbortController();
      const call = (await join({ service: 'gateway' }))
        .as(alice)
        .call('models.visible', {}, { timeoutMs: 5_000, requestId: 'req_outer', signal: leaving.signal });
      const { principal, requestId, deadline } = await inner.promise;
      assert.deepEqual([principal, requestId], [alice, 'req_outer']);
      assert.ok(deadline <= (await outerDeadline.promise) + 50, 'the inner deadline is not later');
      leaving.abort();
      await assert.rejects(call, { code: 'CANCELLED' });
      await stopped.promise;
    });
  });

  test('a long call succeeds as long as its service sends heartbeats', async () => {
    const calls = { aliveMs: 20, silenceMs: 100 };
    await withBuses(async (join) => {
      const owner = await join({ service: 'secrets', calls });
      const resolve = () => new Promise<{ value: string }>((done) => setTimeout(done, 400, { value: 'at-last' }));
      await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      const caller = await join({ service: 'sessions', calls });
      assert.deepEqual(await caller.call('secrets.resolve', { name: 'A', to }), { value: 'at-last' });
    });
  });

  test('a call survives a pause of its own process that is longer than the permitted silence', async () => {
    const calls = { aliveMs: 20, silenceMs: 100 };
    await withBuses(async (join) => {
      const owner = await join({ service: 'secrets', calls });
      const [started, reply] = [Promise.withResolvers<void>(), Promise.withResolvers<{ value: string }>()];
      const resolve = () => {
        started.resolve();
        return reply.promise;
      };
      await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      const call = (await join({ service: 'sessions', calls })).call('secrets.resolve', { name: 'A', to });
      await started.promise;
      blockEventLoop(3 * calls.silenceMs);
      setTimeout(() => reply.resolve({ value: 'at-last' }), calls.aliveMs / 2);
      assert.deepEqual(await call, { value: 'at-last' });
    });
  });

  test('sends no heartbeats for short calls', async () => {
    const calls = { aliveMs: 200, silenceMs: 1_000 };
    await withBuses(async (join, raw) => {
      const tap = await raw();
      let signs = 0;
      tap.subscribe('>', (message) => void (signs += Number(isHeartbeat(message))));
      await tap.flush();
      const owner = await join({ service: 'secrets', calls });
      const resolve = () => new Promise<{ value: string }>((done) => setTimeout(done, 20, { value: 'soon' }));
      await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      const caller = await join({ service: 'sessions', calls });
      for (let n = 0; n < 25; n++) await caller.call('secrets.resolve', { name: 'A', to });
      assert.equal(signs, 0);
    });
  });

  test('a call rejects with CALL_SILENT when its service dies', async () => {
    const calls = { aliveMs: 20, silenceMs: 100 };
    await withBuses(async (join, raw) => {
      const dead = await raw();
      dead.subscribe(callable('secrets.resolve').subject, () => undefined);
      await dead.flush();
      const caller = await join({ service: 'sessions', calls });
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }, { timeoutMs: 20_000 }), {
        code: 'UNAVAILABLE',
        details: { reason: 'CALL_SILENT', ...REPEATABLE },
      });
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }, { timeoutMs: 50 }), { code: 'DEADLINE_EXCEEDED' });
    });
  });

  test('an error that cannot be serialized arrives without details', async () => {
    const details: Record<string, unknown> = {};
    details['self'] = details;
    const resolve = () => Promise.reject(new ServiceError('ABORTED', 'round and round', { details }));
    await withSecrets(resolve, async (caller) => {
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }), { code: 'ABORTED', message: 'round and round' });
    });
  });

  test('drain waits for running calls and rejects new ones', async () => {
    await withBuses(async (join) => {
      const owner = await join({ service: 'secrets' });
      const caller = await join({ service: 'sessions' });
      const started = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      const resolve = async () => {
        started.resolve();
        await release.promise;
        return { value: 'finished' };
      };
      const served = await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      assert.deepEqual(served.names, ['secrets.resolve']);

      const running = caller.call('secrets.resolve', { name: 'A', to });
      await started.promise;
      const drained = served.drain(10_000);
      await owner.flush();
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }), {
        code: 'UNAVAILABLE',
        details: { reason: 'NO_RESPONDERS' },
      });
      release.resolve();
      await drained;
      assert.deepEqual(await running, { value: 'finished' });
    });
  });

  test('drain stops calls after the grace period and notifies their callers', async () => {
    await withBuses(async (join) => {
      const owner = await join({ service: 'secrets' });
      const caller = await join({ service: 'sessions' });
      const started = Promise.withResolvers<unknown>();
      const stopped = Promise.withResolvers<unknown>();
      const resolve = untilAborted(stopped.resolve, started.resolve);
      const served = await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      const running = assert.rejects(caller.call('secrets.resolve', { name: 'A', to }), {
        code: 'UNAVAILABLE',
        details: { reason: 'SHUTTING_DOWN', ...REPEATABLE },
      });
      await started.promise;
      await served.drain(20);
      await running;
      await stopped.promise;
    });
  });

  test('a drained bus rejects pending and new calls', async () => {
    const started = Promise.withResolvers<unknown>();
    const stopped = Promise.withResolvers<unknown>();
    await withSecrets(untilAborted(stopped.resolve, started.resolve), async (caller) => {
      const waiting = assert.rejects(caller.call('secrets.resolve', { name: 'A', to }), {
        code: 'UNAVAILABLE',
        details: { reason: 'BUS_CLOSED', ...REPEATABLE },
      });
      await started.promise;
      await caller.drain();
      await waiting;
      await caller.closed;
      assert.equal(caller.connected(), false);
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }), { code: 'UNAVAILABLE', details: { reason: 'BUS_CLOSED' } });
      await stopped.promise;
    });
  });
}

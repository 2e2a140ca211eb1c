import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unserved } from '@switchyard/contracts';
import { callable, forward, type BusFixture } from './bus-fixture.contract.ts';

const MESSAGE = '"message":"hi"';

/** Retry safety of failed calls. */
export function repeatingContract({ withBuses }: BusFixture): void {
  test('a call without a service is retryable unless no service implements its method', async () => {
    await withBuses(async (join) => {
      const bus = await join();
      const failed = async (method: string) => (await forward(bus, method, '{}')).error?.retryable;
      assert.equal(await failed('models.visible'), true);
      assert.equal(await failed('agent.execute'), true, 'the call has not run');
      for (const method of unserved) assert.equal(await failed(method), false, method);
    });
  });

  test('a call without a reply is retryable only if it is idempotent or has an idempotency key', async () => {
    await withBuses(async (join, raw) => {
      const dead = await raw();
      for (const name of ['secrets.resolve', 'agent.execute', 'session.export']) dead.subscribe(callable(name).subject, () => undefined);
      await dead.flush();
      const caller = await join({ service: 'gateway', calls: { silenceMs: 100 } });
      const cases: [method: string, params: string, retryable: boolean][] = [
        ['agent.execute', `{${MESSAGE}}`, false],
        ['agent.execute', `{${MESSAGE},"idempotencyKey":"k"}`, true],
        ['agent.execute', '{"message":"my \\"idempotencyKey\\":\\"k\\""}', false],
        ['agent.execute', '{"message":"idempotencyKey"}', false],
        ['agent.execute', `{${MESSAGE},"sessionKey":{"idempotencyKey":"k"}}`, false],
        ['agent.execute', '{"idempotencyKey":', false],
        ['session.export', '{"session_key":"default:a:gateway"}', true],
      ];
      for (const timeoutMs of [50, 20_000]) {
        const answers = await Promise.all(cases.map(([method, params]) => forward(caller, method, params, { timeoutMs })));
        for (const [index, { error }] of answers.entries()) {
          const [method, params, retryable] = cases[index] ?? assert.fail();
          assert.equal(error?.code, timeoutMs === 50 ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE');
          assert.equal(error?.retryable, retryable, `${error?.code} of ${method} ${params}`);
        }
      }
    });
  });

  test('a lost connection and an abandoned call follow the same retry rule', async () => {
    await withBuses(async (join, raw) => {
      const dead = await raw();
      for (const name of ['agent.execute', 'session.export']) dead.subscribe(callable(name).subject, () => undefined);
      await dead.flush();
      for (const leave of ['abandon', 'drain'] as const) {
        const caller = await join({ service: 'gateway' });
        const waiting = [
          forward(caller, 'agent.execute', `{${MESSAGE}}`),
          forward(caller, 'agent.execute', `{${MESSAGE},"idempotencyKey":"k"}`),
          forward(caller, 'session.export', '{}'),
        ];
        await caller.flush();
        await caller[leave]();
        const retryable = (await Promise.all(waiting)).map(({ error }) => error?.retryable);
        assert.deepEqual(retryable, [false, true, true], leave);
        if (leave === 'abandon') continue;
        assert.equal((await forward(caller, 'agent.execute', `{${MESSAGE}}`)).error?.retryable, true, 'it was never sent');
      }
    });
  });
}

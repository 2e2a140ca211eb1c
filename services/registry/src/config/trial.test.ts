import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gateway as gatewayContract, type ServiceError } from '@switchyard/contracts';
import { defineService, startService } from '@switchyard/service-kit';
import { principal, testService, type TestService } from '@switchyard/testkit';
import { registry } from '../service.ts';

/** A service that counts the configurations that it applies, and refuses more than ten calls in a batch. */
function createPickyService() {
  const applied: number[] = [];
  const definition = defineService({
    contract: gatewayContract,
    version: '1.0.0',
    settings: ['gateway'],
    setup({ settings, own }) {
      own.defer(
        settings.onChange(({ gateway }) => {
          if (gateway.maxBatchSize > 10) throw new Error('ten is the most');
          applied.push(gateway.maxBatchSize);
        }),
      );
      return {};
    },
  });
  return { applied, definition };
}

async function catchError(call: Promise<unknown>): Promise<ServiceError> {
  return call.then(
    () => assert.fail('the call was not rejected'),
    (error: unknown) => error as ServiceError,
  );
}

const write = (app: TestService, value: number) => app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value });

test('a version that the writing process cannot apply is refused and never stored', async () => {
  await using app = await testService(registry, { as: principal({ client: 'ops', scopes: ['*'] }) });
  const { definition, applied } = createPickyService();
  await using _service = await startService(definition, app.host);
  const current = () => app.host.settings.current.gateway.maxBatchSize;
  await write(app, 7);
  assert.equal(current(), 7, 'in force when the write is answered');
  const { code, message, details } = await catchError(write(app, 11));
  assert.deepEqual([code, details.reason], ['FAILED_PRECONDITION', 'TRIAL_FAILED']);
  assert.match(message, /could not apply it: ten is the most$/);
  assert.equal(current(), 7);
  const { entries } = await app.bus.call('config.history', {});
  assert.equal(entries.length, 2);
  await write(app, 8);
  assert.deepEqual([applied.at(0), applied.at(-1), current()], [7, 8, 8]);
});

test('a version is applied once, also when another write was faster', async () => {
  await using app = await testService(registry, { as: principal({ client: 'ops', scopes: ['*'] }) });
  const { definition, applied } = createPickyService();
  await using _service = await startService(definition, app.host);
  const { entries } = await app.bus.call('config.history', {});
  await write(app, 3);
  const stale = { section: 'gateway', key: 'maxBatchSize', value: 4, baseSha: entries[0]!.sha };
  assert.equal((await catchError(app.bus.call('config.set', stale))).code, 'ABORTED');
  assert.deepEqual(applied, [3]);
});

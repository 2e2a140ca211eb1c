import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { diagnosticCollection, hourCollection, positionCollection, recordCollection } from '../documents/collections.ts';
import { endTurn, getTurnId, readTotal, startObservability } from '../observability.fixture.ts';
import { startIngest } from './ingest.ts';

const EVENTS = 30;

test('does not store events of a recreated log with positions of the old one', async () => {
  await using app = await startObservability({ env: { SWITCHYARD_OBSERVABILITY__PERSISTENCE__ENABLED: 'false' } });
  const { host } = app.service;
  const { observability: settings } = host.settings.current;
  const store = await host.store('observability');
  await using _closing = { [Symbol.asyncDispose]: () => store.close() };
  const documents = await store.open({
    records: recordCollection,
    hours: hourCollection,
    diagnostics: diagnosticCollection,
    positions: positionCollection,
  });
  const bus = await host.connect('observability');
  let name = 'old';
  // The log is recreated between the reading of its position and of its page.
  const openLog: typeof bus.log = async (definition) => {
    const log = await bus.log(definition);
    return {
      ...log,
      position: async () => ({ ...(await log.position()), name }),
      async page(...params) {
        name = 'new';
        return log.page(...params);
      },
    };
  };
  for (let n = 0; n < EVENTS; n += 1) await endTurn(app, { turnId: getTurnId(n), usage: { calls: 1, input: 1, output: 1 } });
  await using ingest = await startIngest({
    ...documents,
    bus: { ...bus, log: openLog, subscribe: bus.subscribe.bind(bus), as: bus.as.bind(bus), call: bus.call.bind(bus) },
    settings: () => ({ ...settings, persistence: { ...settings.persistence, enabled: true } }),
    log: silentLogger(),
    clock: systemClock,
    now: () => store.now(),
    intervalMs: 60_000,
  });
  await ingest.run();
  assert.equal(await documents.records.for({ tenant: 'default' }).count({ log: 'old' }), 0);
  assert.equal((await readTotal(app)).callCount, EVENTS);
});

import { encodePrincipal } from '@switchyard/bus';
import {
  contracts,
  EVENTS_LOG,
  registry,
  servicePrincipal,
  subjects,
  type EventPayload,
  type Input,
  type Principal,
  type Result,
  type TurnUsage,
} from '@switchyard/contracts';
import { systemClock } from '@switchyard/service-kit';
import type { Documents } from '@switchyard/store';
import { silentLogger } from '@switchyard/telemetry';
import { principal, testService, type TestService } from '@switchyard/testkit';
import {
  diagnosticCollection,
  hourCollection,
  positionCollection,
  recordCollection,
  type DiagnosticDocument,
  type RecordDocument,
} from './documents/collections.ts';
import { startIngest } from './ingest/ingest.ts';
import { defineObservability } from './service.ts';

const INGEST_MS = 10;
/** Time of a stored event to reach the billing methods. */
const PATIENCE_MS = 20_000;
const TENANT = 'default';

export interface ObservabilityApp extends AsyncDisposable {
  readonly service: TestService;
  readonly records: Documents<RecordDocument>;
  readonly diagnostics: Documents<DiagnosticDocument>;
  /** Stores an event in the log as a service does from its outbox. */
  record(name: string, payload: unknown, options?: { tenant?: string; id?: string }): Promise<void>;
  /** Stores an event that this version of the contract does not know. */
  recordUnknown(event: string, payload: unknown): Promise<void>;
  /** Returns the position in the log up to which events are ingested. */
  readPosition(): Promise<number>;
  /** Sets the position in the log back to its start. */
  rewind(): Promise<void>;
}

export interface ObservabilityAppOptions {
  data?: string;
  env?: Readonly<Record<string, string>>;
  as?: Principal;
  /** Processes that ingest the same log into the same database. */
  replicas?: number;
  snapshotMs?: number;
  /** Called before registry answers with prices. */
  beforePrices?: () => Promise<void>;
}

/** Starts the service on an event log that the test writes. */
export async function startObservability({
  data,
  env = {},
  as,
  replicas = 1,
  snapshotMs,
  beforePrices,
}: ObservabilityAppOptions = {}): Promise<ObservabilityApp> {
  await using stack = new AsyncDisposableStack();
  const service = stack.use(
    await testService(defineObservability({ ingestMs: INGEST_MS, ...(snapshotMs === undefined ? {} : { snapshotMs }) }), {
      as: as ?? principal({ scopes: ['*'] }),
      env,
      async prepare(host) {
        const prices = [{ model: 'openai/gpt-5', input: 1.25, output: 10, cacheRead: 0.125, cacheWrite: 0 }];
        const readPrices = async () => {
          await beforePrices?.();
          return { prices, sources: [{ model: 'openai/gpt-5', url: 'https://prices.example', checked: '2026-10-03' }] };
        };
        await (await host.connect('registry')).serve(registry, { 'models.prices': readPrices }, { version: '0.0.0' });
      },
      ...(data === undefined ? {} : { data }),
    }),
  );
  const { host } = service;
  const store = await host.store('observability');
  stack.defer(() => store.close());
  const documents = await store.open({
    records: recordCollection,
    hours: hourCollection,
    diagnostics: diagnosticCollection,
    positions: positionCollection,
  });
  const events = await host.connect('sessions');
  const { observability } = host.settings.current;
  for (let n = 1; n < replicas; n += 1)
    stack.use(
      await startIngest({
        ...documents,
        bus: await host.connect('observability'),
        settings: () => observability,
        log: silentLogger(),
        clock: systemClock,
        now: () => store.now(),
        intervalMs: INGEST_MS,
      }),
    );
  const log = await events.log(EVENTS_LOG);
  let published = 0;
  const owned = stack.move();
  return {
    service,
    records: documents.records.for({ tenant: TENANT }),
    diagnostics: documents.diagnostics.for({ tenant: TENANT }),
    record: (name, payload, { tenant = TENANT, id = `event_${(published += 1)}` } = {}) => events.record({ id, name, payload, tenant }),
    async recordUnknown(event, payload) {
      const subject = subjects.event('sessions', event, TENANT);
      const data = Buffer.from(JSON.stringify(payload));
      await log.append({ subject, data, headers: encodePrincipal(servicePrincipal('sessions', TENANT)) });
    },
    readPosition: async () => (await documents.positions.for({ tenant: TENANT }).get('events'))?.seq ?? 0,
    async rewind() {
      await documents.positions.for({ tenant: TENANT }).update({ name: 'events' }, { set: { seq: 0 } });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type EndedTurn = EventPayload<'turn:ended'>;
export type TurnFields = Partial<Omit<EndedTurn, 'usage'>> & { usage?: Partial<TurnUsage> };

/** Returns a turn id that ends with this name. */
export function getTurnId(name: string | number): string {
  return `turn_${String(name).padStart(22, '0')}`;
}

/** Stores the event of an ended turn. */
export async function endTurn(app: ObservabilityApp, { usage, ...fields }: TurnFields, options?: { tenant?: string }): Promise<void> {
  const example = contracts.sessions.events['turn:ended'].example as EndedTurn;
  const none: TurnUsage = { calls: 0, unknownCalls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 };
  await app.record('turn:ended', { ...example, ...fields, usage: { ...none, ...usage } }, options);
}

export function readTotal(app: ObservabilityApp, params: Input<'obs.billing.total'> = {}): Promise<Result<'obs.billing.total'>> {
  return app.service.bus.call('obs.billing.total', params);
}

/** Resolves when the billing methods count this many calls. */
export async function waitForCalls(app: ObservabilityApp, calls: number): Promise<void> {
  await waitUntil(async () => (await readTotal(app)).callCount >= calls, `${calls} calls`);
}

/** Resolves when a condition holds that no event announces. */
export async function waitUntil(condition: () => Promise<boolean>, what: string, patienceMs = PATIENCE_MS): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited too long for ${what}`);
    await new Promise((resolve) => void setTimeout(resolve, INGEST_MS));
  }
}

import type { Bus, MemoryHub } from '@switchyard/bus';
import {
  eventServices,
  secrets,
  type AuditAct,
  type AuditOutcome,
  type ConfigurationPatch,
  type Contract,
  type EventName,
  type EventPayload,
  type Principal,
  type ServiceName,
} from '@switchyard/contracts';
import { openHost, startService, type Host, type SectionName, type ServiceDefinition } from '@switchyard/service-kit';
import { createLogger, type Logger } from '@switchyard/telemetry';
import { createInbox } from './inbox.ts';
import { principal } from './principal.ts';
import { tempDir } from '../processes/temp-dir.ts';

export interface TestServiceOptions {
  /** Principal of `bus`. */
  as?: Principal;
  /** The service of `bus`, which determines the operations it may call; the gateway by default. */
  from?: ServiceName;
  env?: Readonly<Record<string, string>>;
  settings?: ConfigurationPatch;
  /** Data directory that is kept, so that the next service on it finds the stored data. */
  data?: string;
  /** Hub of the bus, for example one that loses messages. */
  hub?: MemoryHub;
  /** By default warnings and errors are collected and added to the error of a missing event. */
  log?: Logger;
  /** Runs before the service starts, for example to stub other services: `(await host.connect('secrets')).serve(…)`. */
  prepare?: (host: Host) => Promise<void>;
}

/** A recorded audited call; without an outcome it has not finished. */
export interface Audited extends AuditAct {
  outcome?: AuditOutcome;
}

export interface TestService extends AsyncDisposable {
  readonly bus: Bus;
  readonly host: Host;
  /** The audited calls in order. Empty for the secrets service, which keeps the audit log itself. */
  readonly audited: readonly Audited[];
  /** Returns the payload of the next event with this name since the start. */
  nextEvent<N extends EventName>(name: N): Promise<EventPayload<N>>;
  /** Stops the service, and starts it again after `whileStopped`. The bus and the other services keep their state. */
  restart(whileStopped: () => Promise<void>): Promise<void>;
}

/** Starts a service in this process with its own bus and database. Results and events are checked against the contract. */
export async function testService<C extends Contract, K extends SectionName>(
  definition: ServiceDefinition<C, K>,
  options: TestServiceOptions = {},
): Promise<TestService> {
  await using starting = new AsyncDisposableStack();
  const { as = principal(), from = 'gateway' } = options;
  const logged: string[] = [];
  const log = options.log ?? createLogger({ level: 'warn', destination: { write: (line: string) => void logged.push(line) } });
  const data = options.data ?? starting.use(await tempDir()).path;
  const env = { SWITCHYARD_DATA: data, SWITCHYARD_CONFIG: ':', SWITCHYARD_HOST: '127.0.0.1', SWITCHYARD_PORT: '0', ...options.env };
  const host = starting.use(
    await openHost({
      env,
      log,
      checkResults: true,
      ...(options.settings === undefined ? {} : { preset: options.settings }),
      ...(options.hub && { hub: options.hub }),
    }),
  );
  const bus = await host.connect(from);
  const inbox = starting.use(createInbox(() => (logged.length === 0 ? '' : `; logged:\n${logged.join('')}`)));
  for (const name of eventServices.keys()) bus.on(name as EventName, (event) => inbox.add(event.name, event.payload));
  await bus.flush();
  const audited: Audited[] = [];
  if (definition.contract.service !== 'secrets') await keepRecord(host, audited);
  await options.prepare?.(host);
  let service = await startService(definition, host);
  starting.defer(() => service[Symbol.asyncDispose]());

  const started = starting.move();
  return {
    bus: bus.as(as),
    host,
    audited,
    nextEvent: (name) => inbox.next(name),
    async restart(whileStopped) {
      await service[Symbol.asyncDispose]();
      await whileStopped();
      service = await startService(definition, host);
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Serves the audit methods of the secrets service, which audited calls require. */
async function keepRecord(host: Host, audited: Audited[]): Promise<void> {
  const keeper = await host.connect('secrets');
  const handlers = {
    'audit.begin': (begun: AuditAct & { deadline: number }) => {
      const { deadline: _, ...act } = begun;
      audited.push(act);
      return { begun: true as const };
    },
    'audit.finish': ({ id, outcome }: { id: string; outcome: AuditOutcome }) => {
      const act = audited.find((one) => one.id === id);
      if (act) act.outcome = outcome;
      return { recorded: true as const };
    },
    'audit.looked': () => ({ recorded: true as const }),
  };
  await keeper.serve(secrets, handlers, { version: '0.0.0', replica: 'keeps-the-record' });
}

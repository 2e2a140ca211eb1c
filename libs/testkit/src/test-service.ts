import type { Bus } from '@switchyard/bus';
import {
  eventServices,
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
import { tempDir } from './temp-dir.ts';

export interface TestServiceOptions {
  /** Whom `bus` speaks for. */
  as?: Principal;
  /** Which service `bus` belongs to, and so which operations it may call; the gateway unless said. */
  from?: ServiceName;
  env?: Readonly<Record<string, string>>;
  settings?: ConfigurationPatch;
  /** Keeps what is stored there, so that the next service started on it finds it. */
  data?: string;
  /** Warnings and errors are kept otherwise, and told when an event does not come. */
  log?: Logger;
  /** Runs before the service starts: to answer for the services it calls (`(await host.connect('secrets')).serve(…)`). */
  prepare?: (host: Host) => Promise<void>;
}

export interface TestService extends AsyncDisposable {
  readonly bus: Bus;
  readonly host: Host;
  /** The payload of the next event of this name that was not given out yet, of those since the start. */
  nextEvent<N extends EventName>(name: N): Promise<EventPayload<N>>;
}

/** The real service on a bus and a database of its own, in this process. Answers and events are checked against the contract. */
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
    await openHost({ env, log, checkResults: true, ...(options.settings === undefined ? {} : { preset: options.settings }) }),
  );
  const bus = await host.connect(from);
  const inbox = starting.use(createInbox(() => (logged.length === 0 ? '' : `; logged:\n${logged.join('')}`)));
  for (const name of eventServices.keys()) bus.on(name as EventName, (event) => inbox.add(event.name, event.payload));
  await bus.flush();
  await options.prepare?.(host);
  starting.use(await startService(definition, host));

  const started = starting.move();
  return {
    bus: bus.as(as),
    host,
    nextEvent: (name) => inbox.next(name),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

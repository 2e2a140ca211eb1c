import { hostname } from 'node:os';
import { callables, subjects, type Contract, type ServiceName } from '@switchyard/contracts';
import { observe, type Logger } from '@switchyard/telemetry';
import { answerCall, cancelCall, drainCalls, type CallServer } from './call-server.ts';
import type { Handlers, ServeOptions, Served } from '../client/bus.ts';
import { decodeText } from '../wire/encoding.ts';
import { createRejectionLog } from './failed-call-log.ts';
import type { ServedMethod } from './active-call.ts';
import type { ParamsDecryption } from '../payloads/sealed-payloads.ts';
import type { Endpoint, Subscription } from '../wire/transport.ts';
import type { BusContext } from '../client/bus-context.ts';

/** Serves the methods of a contract and announces the service for discovery. */
export async function serve<C extends Contract>(
  context: BusContext,
  contract: C,
  handlers: Handlers<C>,
  options: ServeOptions,
): Promise<Served> {
  const server: CallServer = {
    context,
    running: new Map(),
    rejectionLog: createRejectionLog(),
    heartbeatTimer: undefined,
    onIdle: undefined,
  };
  const { service } = contract;
  const methods = servedMethods(contract, handlers, {
    log: options.log ?? context.log,
    paramsDecryption: options.paramsDecryption,
  });
  const cancels = context.transport.subscribe(subjects.cancel(service), (message) => cancelCall(server, decodeText(message.data)));
  const replica = options.replica ?? context.replica;
  // Subscribed before serve(), whose flush covers it.
  const own = subscribeOwnOperations(server, methods, { service, replica });
  const info = {
    name: service,
    version: options.version,
    description: `The ${service} service of Switchyard.`,
    replica,
    metadata: { pid: String(process.pid), host: hostname() },
    ...(options.readiness === undefined ? {} : { data: options.readiness }),
  };
  const served = await context.transport.serve(
    info,
    methods.map((method) => endpoint(server, method)),
  );
  const unobserve = observe('switchyard.method.running', { service }, () => server.running.size);
  return {
    names: methods.map(({ callable }) => callable.name),
    async drain(graceMs) {
      await Promise.all([served.drain(), own.drain()]);
      await drainCalls(server, graceMs);
      cancels.unsubscribe();
      unobserve();
    },
  };
}

/** Receives the operations that callers send to this replica only. */
function subscribeOwnOperations(
  server: CallServer,
  methods: readonly ServedMethod[],
  { service, replica }: { service: ServiceName; replica: string },
): Subscription {
  const operations = methods.filter(({ callable }) => callable.kind === 'operation');
  const bySubject = new Map(operations.map((method) => [subjects.ownOperation(service, replica, method.callable.name), method]));
  return server.context.transport.subscribe(subjects.ownOperations(service, replica), (message) => {
    const method = bySubject.get(message.subject);
    if (method !== undefined) answerCall(server, method, message);
  });
}

function servedMethods<C extends Contract>(
  contract: C,
  handlers: Handlers<C>,
  { log, paramsDecryption }: { log: Logger; paramsDecryption: ParamsDecryption | undefined },
): ServedMethod[] {
  return Object.entries(handlers).map(([name, handler]) => {
    const callable = callables.get(name);
    if (callable === undefined || callable.service !== contract.service) throw new TypeError(`${contract.service} declares no ${name}`);
    if (callable.sealed?.params.length && paramsDecryption === undefined)
      throw new TypeError(`${name} has sealed params; serve() needs paramsDecryption`);
    return {
      callable,
      handler: handler as ServedMethod['handler'],
      stats: { requests: 0, errors: 0, lastError: undefined, processingMs: 0 },
      durations: new Map(),
      log: log.child({ method: name }),
      paramsDecryption,
    };
  });
}

function endpoint(server: CallServer, method: ServedMethod): Endpoint {
  const { name, subject, kind } = method.callable;
  return {
    name: name.replaceAll('.', '-'),
    subject,
    metadata: { kind },
    onMessage: (message) => answerCall(server, method, message),
    stats: () => method.stats,
  };
}

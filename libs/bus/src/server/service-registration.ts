import { hostname } from 'node:os';
import { callables, subjects, type Contract } from '@switchyard/contracts';
import { observe, type Logger } from '@switchyard/telemetry';
import { answer, cancel, finish, type Desk } from './call-server.ts';
import type { Handlers, ServeOptions, Served } from '../client/bus.ts';
import { decodeText } from '../wire/encoding.ts';
import { createRefusals } from './failed-call-log.ts';
import type { Method } from './active-call.ts';
import type { ParamsDecryption } from '../payloads/sealed-payloads.ts';
import type { Endpoint } from '../wire/transport.ts';
import type { Wire } from '../client/bus-context.ts';

/** Answers every call of a service, and announces it for discovery. */
export async function serve<C extends Contract>(wire: Wire, contract: C, handlers: Handlers<C>, options: ServeOptions): Promise<Served> {
  const desk: Desk = { wire, running: new Map(), refusals: createRefusals(), alive: undefined, whenEmpty: undefined };
  const { service } = contract;
  const methods = servedMethods(contract, handlers, {
    log: options.log ?? wire.log,
    paramsDecryption: options.paramsDecryption,
  });
  const cancels = wire.transport.subscribe(subjects.cancel(service), (message) => cancel(desk, decodeText(message.data)));
  const info = {
    name: service,
    version: options.version,
    description: `The ${service} service of Switchyard.`,
    replica: options.replica ?? wire.replica,
    metadata: { pid: String(process.pid), host: hostname() },
    ...(options.readiness === undefined ? {} : { data: options.readiness }),
  };
  const served = await wire.transport.serve(
    info,
    methods.map((method) => endpoint(desk, method)),
  );
  const unobserve = observe('switchyard.method.running', { service }, () => desk.running.size);
  return {
    names: methods.map(({ callable }) => callable.name),
    async drain(graceMs) {
      await served.drain();
      await finish(desk, graceMs);
      cancels.unsubscribe();
      unobserve();
    },
  };
}

function servedMethods<C extends Contract>(
  contract: C,
  handlers: Handlers<C>,
  { log, paramsDecryption }: { log: Logger; paramsDecryption: ParamsDecryption | undefined },
): Method[] {
  return Object.entries(handlers).map(([name, handler]) => {
    const callable = callables.get(name);
    if (callable === undefined || callable.service !== contract.service) throw new TypeError(`${contract.service} declares no ${name}`);
    if (callable.sealed?.params.length && paramsDecryption === undefined)
      throw new TypeError(`${name} has sealed params; serve() needs paramsDecryption`);
    return {
      callable,
      handler: handler as Method['handler'],
      stats: { requests: 0, errors: 0, lastError: undefined, processingMs: 0 },
      durations: new Map(),
      log: log.child({ method: name }),
      paramsDecryption,
    };
  });
}

function endpoint(desk: Desk, method: Method): Endpoint {
  const { name, subject, kind } = method.callable;
  return {
    name: name.replaceAll('.', '-'),
    subject,
    metadata: { kind },
    onMessage: (message) => answer(desk, method, message),
    stats: () => method.stats,
  };
}

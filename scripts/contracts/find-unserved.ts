import { callables, publicMethods } from '@switchyard/contracts';
import { services } from '@switchyard/embedded';
import { gateway } from '@switchyard/gateway';
import { openHost, startService, type AnyService } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';

/** Declared names without a handler, sorted. */
export interface Unserved {
  methods: string[];
  /** Operations that are tools of agents. */
  tools: string[];
}

/** Starts every service on a bus and data of its own, and returns the methods and tools without a handler. */
export async function findUnserved(): Promise<Unserved> {
  const served = new Set<string>();
  await using stack = new AsyncDisposableStack();
  const data = stack.use(await tempDir());
  const env = { SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':', SWITCHYARD_HOST: '127.0.0.1', SWITCHYARD_PORT: '0' };
  const host = stack.use(await openHost({ env, log: silentLogger() }));
  for (const service of [...services, gateway]) stack.use(await startService(noting(service, served), host));
  const tools = [...callables.values()].filter(({ kind, tool }) => kind === 'operation' && tool !== undefined).map(({ name }) => name);
  const selectUnserved = (names: Iterable<string>): string[] => [...names].filter((name) => !served.has(name)).sort();
  return { methods: selectUnserved(publicMethods.keys()), tools: selectUnserved(tools) };
}

function noting(service: AnyService, served: Set<string>): AnyService {
  return {
    ...service,
    async setup(options) {
      const handlers = await service.setup(options);
      for (const name of Object.keys(handlers)) served.add(name);
      return handlers;
    },
  };
}

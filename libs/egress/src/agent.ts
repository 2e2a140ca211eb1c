import type { Agent, Dispatcher, interceptors as Interceptors } from 'undici';
import { createConnector, type AddressChecks } from './connector.ts';

export interface AgentOptions extends Omit<Agent.Options, 'connect' | 'factory'> {
  checks: AddressChecks;
  connectTimeoutMs: number;
  /** Adds interceptors of undici. */
  compose?: (interceptors: typeof Interceptors) => Dispatcher.DispatcherComposeInterceptor;
}

/** Opens a pool of connections whose addresses are checked. It loads the HTTP client, so it should be called on first use. */
export async function openAgent({ checks, connectTimeoutMs, compose, ...options }: AgentOptions): Promise<Dispatcher> {
  const { Agent: Connections, buildConnector, interceptors } = await import('undici');
  const { allowH2 = false } = options;
  const connect = createConnector(buildConnector, { timeout: connectTimeoutMs, allowH2 }, checks);
  const agent = new Connections({ ...options, allowH2, connect });
  return compose === undefined ? agent : agent.compose(compose(interceptors));
}

import { natsUrl } from '../baselines/http.ts';
import { requirePeer } from './peers.ts';

interface ServiceBroker {
  createService(schema: { name: string; actions: Record<string, (ctx: { params: { name: string } }) => unknown> }): void;
  start(): Promise<void>;
  waitForServices(name: string): Promise<unknown>;
  call(action: string, params: unknown): Promise<unknown>;
}

/** Creates a Moleculer node on the bus. */
export function createBroker(nodeID: string): ServiceBroker {
  const { ServiceBroker } = requirePeer('moleculer') as { ServiceBroker: new (options: object) => ServiceBroker };
  return new ServiceBroker({ nodeID, transporter: natsUrl(), logger: false });
}

import type { Bus, Subscription } from '@switchyard/bus';
import { subjects } from '@switchyard/contracts';
import { createConnections, type Connection, type Connections } from './connections.ts';
import type { Caller, Tokens } from '../admission/tokens.ts';

/**
 * The connections of this replica, and the notifications that services send to them. What is published is the whole JSON-RPC
 * message, the same bytes for every client.
 */
export function openFanOut(bus: Bus, tokens: Tokens): { connections: Connections } & Disposable {
  const subscriptions = new Map<string, Subscription>();
  const connections = createConnections({ onClient });

  function onClient(client: Caller, present: boolean): void {
    const { key, principal } = client;
    if (!present) {
      subscriptions.get(key)?.unsubscribe();
      subscriptions.delete(key);
      return;
    }
    const subscription = bus.subscribe(subjects.notifyClient(principal.tenant, principal.client), ({ data }) => {
      deliver(connections.byClient(client) ?? [], data);
    });
    subscriptions.set(key, subscription);
  }

  function deliver(receivers: Iterable<Connection>, data: Uint8Array): void {
    const frame = Buffer.from(data);
    for (const connection of receivers) if (tokens.valid(connection.caller)) connections.send(connection, frame);
  }

  const everybody = bus.subscribe(subjects.notifyEverybody, ({ subject, data }) => {
    const addressed = ({ caller }: Connection): boolean => caller.may.rpc && subjects.notifyAll(caller.principal.tenant) === subject;
    deliver([...connections.all].filter(addressed), data);
  });

  return {
    connections,
    [Symbol.dispose]() {
      everybody.unsubscribe();
      for (const subscription of subscriptions.values()) subscription.unsubscribe();
      subscriptions.clear();
    },
  };
}

import type { Bus, Subscription } from '@switchyard/bus';
import { subjects } from '@switchyard/contracts';
import { createConnections, type Connection, type Connections } from './connections.ts';
import type { Tokens } from './tokens.ts';

/**
 * The connections of this replica, and the notifications that services send to them. What is published is the whole JSON-RPC
 * message, the same bytes for every client.
 */
export function openFanOut(bus: Bus, tokens: Tokens): { connections: Connections } & Disposable {
  const subscriptions = new Map<string, Subscription>();
  const connections = createConnections({ onClient });

  function onClient(clientId: string, present: boolean): void {
    if (!present) {
      subscriptions.get(clientId)?.unsubscribe();
      subscriptions.delete(clientId);
      return;
    }
    const subscription = bus.subscribe(subjects.notifyClient(clientId), ({ data }) => {
      deliver(connections.byClient(clientId) ?? [], data);
    });
    subscriptions.set(clientId, subscription);
  }

  function deliver(receivers: Iterable<Connection>, data: Uint8Array): void {
    const frame = Buffer.from(data);
    for (const connection of receivers) if (tokens.valid(connection.caller)) connections.send(connection, frame);
  }

  const everybody = bus.subscribe(subjects.notifyAll, ({ data }) => {
    deliver(
      [...connections.all].filter(({ caller }) => caller.may.rpc),
      data,
    );
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

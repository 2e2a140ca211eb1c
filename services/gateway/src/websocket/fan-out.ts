import type { Bus, Subscription } from '@switchyard/bus';
import { subjects } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import { createBroadcast } from './broadcast.ts';
import { createConnections, type Connection, type Connections } from './connections.ts';
import type { Tokens } from '../auth/tokens.ts';
import type { Caller } from '../request/caller.ts';

/** How long lost notifications are counted before the log says how many. */
const LOST_MS = 1_000;

interface FanOutDeps {
  bus: Bus;
  tokens: Tokens;
  log: Logger;
}

/**
 * The connections of this replica, and the notifications that services send to them. What is published is the whole JSON-RPC
 * message, the same bytes for every client.
 */
export function openFanOut({ bus, tokens, log }: FanOutDeps): { connections: Connections } & Disposable {
  let lost = 0;
  const subscriptions = new Map<string, Subscription>();
  const connections = createConnections({ onClient });
  const broadcast = createBroadcast((connection, messages) => {
    if (tokens.valid(connection.caller)) connections.sendAll(connection, messages);
  });

  function onClient(client: Caller, present: boolean): void {
    const { key, principal } = client;
    if (!present) {
      subscriptions.get(key)?.unsubscribe();
      subscriptions.delete(key);
      return;
    }
    const own = subjects.notifyClient(principal.tenant, principal.client);
    const subscription = bus.subscribe(own, ({ data }) => send(own, data, () => connections.byClient(client) ?? []));
    subscriptions.set(key, subscription);
  }

  const everybody = bus.subscribe(subjects.notifyEverybody, ({ subject, data }) => send(subject, data, () => hearersOf(subject)));

  function* hearersOf(subject: string): Iterable<Connection> {
    for (const connection of connections.all) {
      const { may, principal } = connection.caller;
      if (may.rpc && subjects.notifyAll(principal.tenant) === subject) yield connection;
    }
  }

  function send(subject: string, data: Uint8Array, receivers: () => Iterable<Connection>): void {
    if (broadcast.send(subject, data, receivers)) return;
    if (lost++ === 0) setTimeout(reportLost, LOST_MS).unref();
  }

  function reportLost(): void {
    log.warn({ lost }, 'notifications were sent to nobody: more came than can be written');
    lost = 0;
  }

  return {
    connections,
    [Symbol.dispose]() {
      everybody.unsubscribe();
      for (const subscription of subscriptions.values()) subscription.unsubscribe();
      subscriptions.clear();
    },
  };
}

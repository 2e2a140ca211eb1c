import type { Bus, Subscription } from '@switchyard/bus';
import { subjects } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import { createBroadcast } from './broadcast.ts';
import { createConnections, type Connection, type Connections } from './connections.ts';
import type { Tokens } from '../auth/tokens.ts';
import type { Caller } from '../request/caller.ts';

/** Interval at which lost notifications are logged. */
const LOST_REPORT_INTERVAL_MS = 1_000;

interface FanOutDeps {
  bus: Bus;
  tokens: Tokens;
  log: Logger;
}

/** Opens the connections of this replica and sends them the notifications of services. Services publish whole JSON-RPC messages. */
export function openFanOut({ bus, tokens, log }: FanOutDeps): { connections: Connections } & Disposable {
  let lost = 0;
  const subscriptions = new Map<string, Subscription>();
  const connections = createConnections({ onClient });
  const broadcast = createBroadcast((connection, messages) => {
    if (tokens.isValid(connection.caller)) connections.sendAll(connection, messages);
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

  const broadcastSubscription = bus.subscribe(subjects.notifyEverybody, ({ subject, data }) =>
    send(subject, data, () => listReceivers(subject)),
  );

  const approvals = [
    bus.on('approval:requested', ({ payload, tenant }) => sendToApprovers('approval.requested', tenant, payload)),
    bus.on('approval:resolved', ({ payload, tenant }) => sendToApprovers('approval.resolved', tenant, payload)),
  ];

  function sendToApprovers(method: string, tenant: string, params: object): void {
    if (connections.all.size === 0) return;
    send(`${method} ${tenant}`, Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params })), () => listApprovers(tenant));
  }

  /** Clients that may resolve every request of a tenant. A client that is restricted to some sessions or agents lists its requests. */
  function* listApprovers(tenant: string): Iterable<Connection> {
    for (const connection of connections.all) {
      const { may, principal } = connection.caller;
      if (may.admin && principal.tenant === tenant && principal.sessions !== 'own' && principal.agents === undefined) yield connection;
    }
  }

  function* listReceivers(subject: string): Iterable<Connection> {
    for (const connection of connections.all) {
      const { may, principal } = connection.caller;
      if (may.rpc && subjects.notifyAll(principal.tenant) === subject) yield connection;
    }
  }

  function send(subject: string, data: Uint8Array, receivers: () => Iterable<Connection>): void {
    if (broadcast.send(subject, data, receivers)) return;
    if (lost++ === 0) setTimeout(reportLost, LOST_REPORT_INTERVAL_MS).unref();
  }

  function reportLost(): void {
    log.warn({ lost }, 'dropped notifications because too many bytes were waiting to be sent');
    lost = 0;
  }

  return {
    connections,
    [Symbol.dispose]() {
      broadcastSubscription.unsubscribe();
      for (const subscription of approvals) subscription.unsubscribe();
      for (const subscription of subscriptions.values()) subscription.unsubscribe();
      subscriptions.clear();
    },
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import { connectBus } from '@switchyard/bus';
import { subjects } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { formatMessage, now } from '../fan-out/message.ts';
import type { LoadResult } from '../load-plan.ts';
import { startLoad } from '../load-process.ts';
import type { Outcome } from '../measure.ts';
import { peakResidentKib } from '../proc.ts';
import { startBroker, startCluster, startEdge } from '../product.ts';
import { cases } from '../rows.ts';
import { quantile } from '../statistics.ts';
import { buildRoute } from '../subject.ts';
import type { Returned } from './clients.ts';
import { startClientPool, type ClientPool } from './crowd.ts';
import { makeTokens } from './make-tokens.ts';

const RECONNECT_TIMEOUT_MS = 30_000;
/** Load of other clients on the remaining gateway. */
const BYSTANDERS = { connections: 16, perSecond: 50, warmMs: 2_000, ms: RECONNECT_TIMEOUT_MS };
const DELIVERY_TIMEOUT_MS = 3_000;
const TENANT = 'default';
/** Connections per client, like a user with many devices. Each connection receives the messages. */
const PER_CLIENT = 10;

interface StormResult {
  requestedCount: number;
  returned: Returned;
  /** Number of clients that received their message. */
  receivedCount: number;
  others: LoadResult;
  peakMib: number;
}

/** Row 21: a gateway is killed and its clients reconnect to the remaining gateway, which is under load. */
export async function measureStorm(wanted: number, onProgress: (description: string) => void): Promise<Outcome[]> {
  await using stack = new AsyncDisposableStack();
  const broker = await startBroker(stack);
  const neighbour = await startCluster(broker, stack);
  const dying = await startEdge(broker, stack);
  const clients = Math.ceil(wanted / PER_CLIENT);
  onProgress(`making ${clients} tokens`);
  const tokens = await makeTokens(neighbour, clients);
  onProgress(`${wanted} WebSockets of ${clients} clients`);
  const secrets = [...tokens.values()];
  const sockets = Array.from({ length: wanted }, (_, n) => secrets[n % clients] as string);
  const crowd = await startClientPool(sockets, { from: dying.url, to: neighbour.url }, stack);

  onProgress('killing their gateway');
  using load = await startLoad();
  const measuring = load.measure({ ...buildRoute(neighbour, cases.call), ...BYSTANDERS, pids: neighbour.pids });
  await delay(BYSTANDERS.warmMs);
  await dying.end('SIGKILL');
  const returned = await crowd.back(RECONNECT_TIMEOUT_MS);
  onProgress(`${returned.ms.length} are back; telling each of them something`);
  const heard = await countDelivered([...tokens.keys()], broker.url, crowd);
  const peakMib = peakResidentKib(neighbour.edge.pid) / 1_024;
  return computeOutcomes({ requestedCount: wanted, returned, receivedCount: heard, others: await measuring, peakMib });
}

/** Sends one message to each client. A client receives it only if its subscription is restored. */
async function countDelivered(clients: readonly string[], url: string, crowd: ClientPool): Promise<number> {
  const bus = await connectBus(url, { log: silentLogger() });
  await crowd.countReceived();
  for (const client of clients) bus.publish(subjects.notifyClient(TENANT, client), Buffer.from(formatMessage(now())));
  await bus.drain();
  await delay(DELIVERY_TIMEOUT_MS);
  return crowd.countReceived();
}

function computeOutcomes({ requestedCount: wanted, returned, receivedCount: heard, others, peakMib }: StormResult): Outcome[] {
  const { ms, attempts } = returned;
  const line = { row: 21, ours: 'nats' as const };
  const percent = (count: number): number => (count / wanted) * 100;
  return [
    {
      ...line,
      what: `${wanted} WS whose gateway is killed, back at its neighbour`,
      values: [percent(ms.length)],
      unit: '%',
      target: { least: 100 },
    },
    { ...line, what: 'until the last of them has an answer', values: [Math.max(...ms) / 1_000], unit: 's', target: { most: 30 } },
    { ...line, what: 'until half of them have', values: [quantile(ms, 0.5) / 1_000], unit: 's', target: {} },
    { ...line, what: 'connections tried for each', values: [attempts / wanted], unit: 'x', target: {} },
    { ...line, what: 'hear the message that is for them', values: [percent(heard)], unit: '%', target: { least: 100 } },
    { ...line, what: 'RSS of the neighbour, at its peak', values: [peakMib], unit: 'MiB', target: { most: 300 } },
    {
      ...line,
      what: 'calls of others meanwhile, answered',
      values: [(others.requests / (others.requests + others.failures)) * 100],
      unit: '%',
      target: { least: 100 },
    },
    { ...line, what: 'the same, p50', values: [others.p50Ms], unit: 'ms', target: {} },
    { ...line, what: 'the same, p99', values: [others.p99Ms], unit: 'ms', target: { most: 1_000 } },
    { ...line, what: 'delay of the load generator itself, p99', values: [others.lateMs], unit: 'ms', target: {} },
  ];
}

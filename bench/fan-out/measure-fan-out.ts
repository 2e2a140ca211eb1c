import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { subjects } from '@switchyard/contracts';
import type { Outcome } from '../measure.ts';
import { residentKib } from '../proc.ts';
import { startBroker, startCluster } from '../product.ts';
import { cases } from '../rows.ts';
import { root, buildRoute, startBaseline, type Subject } from '../subject.ts';
import type { Received } from './audience.ts';
import type { PublishOptions } from './publisher.ts';

const PER_SECOND = 1_000;
const PUBLISH_MS = 5_000;
/** Time for a server to deliver its backlog. */
const BACKLOG_TIMEOUT_MS = 2_000;
const STALLED = 200;
const TENANT = 'default';

interface Delivery extends Received {
  /** Share of the expected messages. */
  share: number;
  /** Messages per second over all clients, until the last was due. */
  rate: number;
}

/** Rows 10 and 11: broadcast to all clients, and clients that do not read. */
export async function measureFanOut(onProgress: (description: string) => void): Promise<Outcome[]> {
  await using stack = new AsyncDisposableStack();
  const broker = await startBroker(stack);
  const ours = await startCluster(broker, stack);
  const loop = await startBaseline('send-loop', { broker }, stack);
  const toOurs = await startChild('publisher.ts', [subjects.notifyAll(TENANT)], { NATS_URL: broker.url }, stack);
  const toLoop = await startChild('publisher.ts', ['bench.send-loop'], { NATS_URL: broker.url }, stack);

  onProgress('1,000 messages a second to 1,000 clients');
  const one = await measureDelivery(ours, { publisher: toOurs, clients: 1_000 });
  onProgress('to 2,000 clients');
  const two = await measureDelivery(ours, { publisher: toOurs, clients: 2_000 });
  onProgress('the same: a send loop');
  const theirs = await measureDelivery(loop, { publisher: toLoop, clients: 2_000 });
  onProgress(`to 1,000 clients, ${STALLED} of which do not read`);
  const before = residentKib(ours.edge.pid);
  const withStalled = await measureDelivery(ours, { publisher: toOurs, clients: 1_000, stalled: STALLED });
  const grown = (residentKib(ours.edge.pid) - before) / 1_024;

  const line = { ours: 'nats' as const };
  const percent = (share: number): number => share * 100;
  return [
    {
      ...line,
      row: 10,
      what: '1,000 messages a second × 1,000 WS, delivered',
      values: [percent(one.share)],
      unit: '%',
      target: { least: 100 },
    },
    { ...line, row: 10, what: 'the same, p99 from publishing', values: [one.p99Ms], unit: 'ms', target: { most: 150 } },
    {
      ...line,
      row: 10,
      what: '1,000 messages a second × 2,000 WS, delivered',
      values: [percent(two.share)],
      unit: '%',
      target: { least: 100 },
    },
    { ...line, row: 10, what: 'the same, p99 from publishing', values: [two.p99Ms], unit: 'ms', target: { most: 500 } },
    {
      ...line,
      row: 10,
      what: 'the same ÷ a send loop, delivered a second',
      values: [two.rate / theirs.rate],
      unit: 'x',
      target: { least: 10 },
    },
    {
      ...line,
      row: 11,
      what: `${STALLED} of 1,000 WS do not read, RSS of the edge grows`,
      values: [grown],
      unit: 'MiB',
      target: { most: 50 },
    },
    {
      ...line,
      row: 11,
      what: 'the same, p99 of the others ÷ without them',
      values: [withStalled.p99Ms / one.p99Ms],
      unit: 'x',
      target: { most: 2 },
    },
  ];
}

interface FanOutLoad {
  publisher: ChildProcess;
  clients: number;
  stalled?: number;
}

async function measureDelivery(subject: Subject, { publisher, clients, stalled = 0 }: FanOutLoad): Promise<Delivery> {
  const { url, path, headers } = buildRoute(subject, cases['ws-call']);
  await using stack = new AsyncDisposableStack();
  const audience = await startChild('audience.ts', [url + path, String(clients)], { HEADERS: JSON.stringify(headers) }, stack);
  await sendRequest<Received>(audience, { stall: stalled });
  await sendRequest<number>(publisher, { perSecond: 50, ms: 500 } satisfies PublishOptions);
  await delay(BACKLOG_TIMEOUT_MS);
  await sendRequest<Received>(audience, {});
  const said = await sendRequest<number>(publisher, { perSecond: PER_SECOND, ms: PUBLISH_MS } satisfies PublishOptions);
  await delay(BACKLOG_TIMEOUT_MS);
  const receivedMessage = await sendRequest<Received>(audience, {});
  return {
    ...receivedMessage,
    share: receivedMessage.messages / (said * (clients - stalled)),
    rate: receivedMessage.messages / ((PUBLISH_MS + BACKLOG_TIMEOUT_MS) / 1_000),
  };
}

async function startChild(script: string, args: string[], env: Record<string, string>, stack: AsyncDisposableStack): Promise<ChildProcess> {
  const child = fork(join(root, 'bench/fan-out', script), args, { env, execArgv: ['--disable-warning=ExperimentalWarning'] });
  stack.defer(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

async function sendRequest<T>(child: ChildProcess, what: object): Promise<T> {
  const answer = once(child, 'message');
  child.send(what);
  return ((await answer) as [T])[0];
}

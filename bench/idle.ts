import { setTimeout as delay } from 'node:timers/promises';
import { residentKib } from './proc.ts';
import type { Outcome } from './measure.ts';
import { cases } from './rows.ts';
import { buildRoute, startNode, type Subject } from './subject.ts';

const CLIENTS = 2;
const SETTLE_MS = 3_000;

interface HeldConnections {
  connections: number;
  before: number;
  after: number;
}

/** Row 12: memory of an idle authenticated WebSocket. */
export async function measureIdle(
  ours: readonly Subject[],
  baseline: Subject,
  requestedCount: number,
): Promise<{ outcomes: Outcome[]; notes: string[] }> {
  const outcomes: Outcome[] = [];
  const notes: string[] = [];
  const bare = await holdConnections(baseline, requestedCount);
  for (const subject of ours) {
    const held = await holdConnections(subject, requestedCount);
    const isEdge = subject.name === 'nats';
    const label = `${held.connections} idle WS`;
    const line = { row: 12, ours: isEdge ? ('nats' as const) : ('embedded' as const) };
    outcomes.push(
      { ...line, what: `${label}, RSS each`, values: [bytesPerConnection(held)], unit: 'KiB', target: { most: 6 } },
      {
        ...line,
        what: `${label}, RSS each ÷ ${baseline.name}`,
        values: [bytesPerConnection(held) / bytesPerConnection(bare)],
        unit: 'x',
        target: {},
      },
      { ...line, what: `${label}, RSS of the edge`, values: [held.after / 1_024], unit: 'MiB', target: isEdge ? { most: 200 } : {} },
    );
    if (held.connections < requestedCount)
      notes.push(`Row 12, ${subject.name}: only ${held.connections} of ${requestedCount} connections could be opened.`);
  }
  notes.push(
    `Row 12: ${baseline.name} holds ${bare.connections} in ${bytesPerConnection(bare).toFixed(1)} KiB each, ${Math.round(bare.after / 1_024)} MiB in all.`,
  );
  return { outcomes, notes };
}

async function holdConnections(subject: Subject, wanted: number): Promise<HeldConnections> {
  const { url, path, headers } = buildRoute(subject, cases['ws-call']);
  const env = { HEADERS: JSON.stringify(headers) };
  await using clients = new AsyncDisposableStack();
  // The first connections include one-time costs: compiled code and allocated tables.
  await holdSome(20);
  await delay(SETTLE_MS);
  const before = residentKib(subject.edge.pid);
  const share = Math.ceil(wanted / CLIENTS);
  const opened = await Promise.all(Array.from({ length: CLIENTS }, () => holdSome(share)));
  await delay(SETTLE_MS);
  return { connections: opened.reduce((sum, one) => sum + one, 0), before, after: residentKib(subject.edge.pid) };

  async function holdSome(count: number): Promise<number> {
    const client = clients.use(
      await startNode('bench/idle-clients.ts', { args: [url + path, String(count)], env, ready: /holding (\d+)/ }),
    );
    return Number(client.ready[1]);
  }
}

function bytesPerConnection({ connections, before, after }: HeldConnections): number {
  return (after - before) / connections;
}

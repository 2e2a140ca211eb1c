import { setTimeout as delay } from 'node:timers/promises';
import { residentKib } from './proc.ts';
import type { Outcome } from './measure.ts';
import { cases } from './rows.ts';
import { routeOf, startNode, type Subject } from './subject.ts';

const CLIENTS = 2;
const SETTLE_MS = 3_000;

interface Held {
  connections: number;
  before: number;
  after: number;
}

/** Row 12: what an authenticated WebSocket costs that says nothing. */
export async function measureIdle(
  ours: readonly Subject[],
  baseline: Subject,
  wanted: number,
): Promise<{ outcomes: Outcome[]; notes: string[] }> {
  const outcomes: Outcome[] = [];
  const notes: string[] = [];
  const bare = await hold(baseline, wanted);
  for (const subject of ours) {
    const held = await hold(subject, wanted);
    const isEdge = subject.name === 'nats';
    const label = `${held.connections} idle WS`;
    const line = { row: 12, ours: isEdge ? ('nats' as const) : ('embedded' as const) };
    outcomes.push(
      { ...line, what: `${label}, RSS each`, values: [each(held)], unit: 'KiB', target: { most: 6 } },
      { ...line, what: `${label}, RSS each ÷ ${baseline.name}`, values: [each(held) / each(bare)], unit: 'x', target: {} },
      { ...line, what: `${label}, RSS of the edge`, values: [held.after / 1_024], unit: 'MiB', target: isEdge ? { most: 200 } : {} },
    );
    if (held.connections < wanted)
      notes.push(`Row 12, ${subject.name}: only ${held.connections} of ${wanted} connections could be opened.`);
  }
  notes.push(
    `Row 12: ${baseline.name} holds ${bare.connections} in ${each(bare).toFixed(1)} KiB each, ${Math.round(bare.after / 1_024)} MiB in all.`,
  );
  return { outcomes, notes };
}

async function hold(subject: Subject, wanted: number): Promise<Held> {
  const { url, path, headers } = routeOf(subject, cases['ws-call']);
  const env = { HEADERS: JSON.stringify(headers) };
  await using clients = new AsyncDisposableStack();
  // The first connections pay for code that is compiled and tables that are allocated once.
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

function each({ connections, before, after }: Held): number {
  return (after - before) / connections;
}

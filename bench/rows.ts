import type { LoadPlan } from './load-plan.ts';
import type { Target } from './statistics.ts';
import type { SubjectName } from './subject-name.ts';

export type Metric = 'rate' | 'p50' | 'p99' | 'cpu' | 'edge-cpu' | 'added-first';

/** What is asked of ours, over which route. */
export type CaseName = 'call' | 'ws-call' | 'edge-answer' | 'ws-edge-answer' | 'completion' | 'completion-stream';

export interface Case {
  kind: LoadPlan['kind'];
  what: string;
  body: string;
  /** What an answer must be. */
  expect: LoadPlan['expect'];
  /** Whether models behind an upstream answer it. */
  completion: boolean;
}

/** A method as it is sent, to ours and to the baselines alike. */
export function callOf(method: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} });
}

function callCase(kind: 'http' | 'ws', method: string, route: string): Case {
  return { kind, what: `${route} ${method}`, body: callOf(method), expect: 'result', completion: false };
}

function completionCase(stream: boolean): Case {
  const messages = [
    { role: 'system', content: 'You are brief.' },
    { role: 'user', content: 'Tell me about the sea, in twenty pieces.' },
  ];
  return {
    kind: 'http',
    what: `/v1 ${stream ? 'stream' : 'JSON'}`,
    body: JSON.stringify({ model: 'default', messages, ...(stream ? { stream } : {}) }),
    expect: stream ? 'chunks' : 'completion',
    completion: true,
  };
}

/** `gateway.status` is the cheapest read of a service: no disk, nobody is asked. */
export const cases: Readonly<Record<CaseName, Case>> = {
  call: callCase('http', 'gateway.status', 'POST /rpc'),
  'ws-call': callCase('ws', 'gateway.status', 'WS'),
  'edge-answer': callCase('http', 'system.ping', 'POST /rpc'),
  'ws-edge-answer': callCase('ws', 'system.ping', 'WS'),
  completion: completionCase(false),
  'completion-stream': completionCase(true),
};

/** A claim about ours against one baseline. */
export interface Row {
  row: number;
  of: CaseName;
  baseline: SubjectName;
  connections: number;
  /** Set where requests come by the clock, however long answers take. */
  perSecond?: number;
  metric: Metric;
  /** None where the ratio is only for information. */
  target: Target;
  /** What is claimed of everything in one process, where that is claimed too. */
  embedded?: Target;
}

/** What is claimed; the measurements follow from it. */
export const rows: readonly Row[] = [
  { row: 1, of: 'call', baseline: 'floor', connections: 32, metric: 'rate', target: { least: 0.95 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 128, metric: 'rate', target: { least: 0.95 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 1, metric: 'p50', target: { most: 1.1 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 32, metric: 'edge-cpu', target: { most: 1 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 128, metric: 'edge-cpu', target: { most: 1 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 32, metric: 'rate', target: { least: 2.5 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 128, metric: 'rate', target: { least: 2.5 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 32, metric: 'cpu', target: { most: 0.35 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 128, metric: 'cpu', target: { most: 0.35 } },
  { row: 3, of: 'call', baseline: 'bare', connections: 32, metric: 'rate', target: { least: 0.65 } },
  { row: 3, of: 'call', baseline: 'bare', connections: 128, metric: 'rate', target: { least: 0.6 } },
  { row: 4, of: 'ws-call', baseline: 'bare-ws', connections: 32, metric: 'rate', target: { least: 0.4 } },
  { row: 4, of: 'ws-call', baseline: 'bare-ws', connections: 128, metric: 'rate', target: { least: 0.5 } },
  { row: 4, of: 'ws-call', baseline: 'floor-ws', connections: 32, metric: 'rate', target: {} },
  { row: 4, of: 'ws-call', baseline: 'floor-ws', connections: 128, metric: 'rate', target: {} },
  { row: 5, of: 'edge-answer', baseline: 'bare', connections: 32, metric: 'rate', target: { least: 1.3 } },
  { row: 5, of: 'edge-answer', baseline: 'bare', connections: 128, metric: 'rate', target: { least: 1.3 } },
  { row: 5, of: 'edge-answer', baseline: 'bare', connections: 1, metric: 'p50', target: { most: 1.1 } },
  { row: 5, of: 'edge-answer', baseline: 'node', connections: 32, metric: 'rate', target: {} },
  { row: 5, of: 'edge-answer', baseline: 'node', connections: 128, metric: 'rate', target: {} },
  { row: 7, of: 'completion', baseline: 'portkey', connections: 32, metric: 'rate', target: { least: 6 } },
  { row: 7, of: 'completion', baseline: 'portkey', connections: 1, metric: 'p50', target: { most: 0.5 } },
  { row: 7, of: 'completion', baseline: 'portkey', connections: 32, metric: 'cpu', target: { most: 0.18 } },
  { row: 8, of: 'completion-stream', baseline: 'upstream', connections: 1, metric: 'added-first', target: { most: 2 } },
  { row: 8, of: 'completion-stream', baseline: 'portkey', connections: 32, metric: 'cpu', target: { most: 0.45 } },
  { row: 8, of: 'completion-stream', baseline: 'portkey', connections: 32, metric: 'rate', target: {} },
  { row: 8, of: 'completion-stream', baseline: 'floor-v1', connections: 32, metric: 'cpu', target: {} },
  { row: 9, of: 'completion', baseline: 'proxy', connections: 32, metric: 'rate', target: { least: 0.5 }, embedded: { least: 0.5 } },
  { row: 9, of: 'completion', baseline: 'proxy', connections: 128, metric: 'rate', target: { least: 0.8 }, embedded: { least: 0.5 } },
  { row: 9, of: 'completion', baseline: 'proxy', connections: 32, metric: 'cpu', target: {} },
  { row: 9, of: 'completion', baseline: 'floor-v1', connections: 32, metric: 'rate', target: {} },
  { row: 9, of: 'completion', baseline: 'floor-v1', connections: 128, metric: 'rate', target: {} },
  { row: 14, of: 'ws-call', baseline: 'openclaw', connections: 32, metric: 'rate', target: { least: 2 } },
  { row: 14, of: 'ws-edge-answer', baseline: 'openclaw', connections: 32, metric: 'rate', target: { least: 4 }, embedded: { least: 4 } },
  {
    row: 15,
    of: 'call',
    baseline: 'floor',
    connections: 64,
    perSecond: 1_000,
    metric: 'p99',
    target: { most: 1.35 },
    embedded: { most: 1.35 },
  },
  { row: 15, of: 'call', baseline: 'floor', connections: 64, perSecond: 1_000, metric: 'p50', target: {} },
];

export interface Group {
  of: CaseName;
  connections: number;
  perSecond: number | undefined;
  baselines: SubjectName[];
}

/** Rows with the same key are read from one measurement. */
export function keyOf({ of, connections, perSecond }: Pick<Row, 'of' | 'connections' | 'perSecond'> | Group): string {
  return `${of} ${connections} ${perSecond}`;
}

/** What must be measured side by side for these rows. */
export function groupsOf(wanted: readonly Row[]): Group[] {
  const groups = new Map<string, Group>();
  for (const row of wanted) {
    const { of, connections, perSecond, baseline } = row;
    const group = groups.get(keyOf(row)) ?? { of, connections, perSecond, baselines: [] };
    if (!group.baselines.includes(baseline)) group.baselines.push(baseline);
    groups.set(keyOf(row), group);
  }
  return [...groups.values()];
}

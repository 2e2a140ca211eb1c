import type { LoadPlan } from './load-plan.ts';
import type { Target } from './statistics.ts';
import type { SubjectName } from './subject-name.ts';

export type Metric = 'rate' | 'p50' | 'p99' | 'cpu' | 'edge-cpu' | 'added-first';

/** Request and route of a measurement. */
export type CaseName = 'call' | 'ws-call' | 'edge-answer' | 'ws-edge-answer' | 'completion' | 'completion-stream';

export interface Case {
  kind: LoadPlan['kind'];
  what: string;
  body: string;
  /** Expected kind of response. */
  expect: LoadPlan['expect'];
  /** Whether the model upstream answers the request. */
  completion: boolean;
}

/** The JSON-RPC request for a method, equal for the product and the baselines. */
export function buildCall(method: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} });
}

function callCase(kind: 'http' | 'ws', method: string, route: string): Case {
  return { kind, what: `${route} ${method}`, body: buildCall(method), expect: 'result', completion: false };
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

/** `gateway.status` is the cheapest read of a service: it uses no disk and no other service. */
export const cases: Readonly<Record<CaseName, Case>> = {
  call: callCase('http', 'gateway.status', 'POST /rpc'),
  'ws-call': callCase('ws', 'gateway.status', 'WS'),
  'edge-answer': callCase('http', 'system.ping', 'POST /rpc'),
  'ws-edge-answer': callCase('ws', 'system.ping', 'WS'),
  completion: completionCase(false),
  'completion-stream': completionCase(true),
};

/** A claim about the product relative to one baseline. */
export interface Row {
  row: number;
  of: CaseName;
  baseline: SubjectName;
  connections: number;
  /** Requests per second of an open loop. */
  perSecond?: number;
  metric: Metric;
  /** Unset if the ratio is for information only. */
  target: Target;
  /** Target of the embedded profile. */
  embedded?: Target;
}

/** All claims. The measurements are derived from them. */
export const rows: readonly Row[] = [
  { row: 1, of: 'call', baseline: 'floor', connections: 32, metric: 'rate', target: { least: 0.95 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 128, metric: 'rate', target: { least: 0.95 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 1, metric: 'p50', target: { most: 1.1 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 32, metric: 'edge-cpu', target: { most: 1 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 128, metric: 'edge-cpu', target: { most: 1 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 32, metric: 'rate', target: { least: 2.2 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 128, metric: 'rate', target: { least: 2.2 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 32, metric: 'cpu', target: { most: 0.35 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 128, metric: 'cpu', target: { most: 0.35 } },
  { row: 3, of: 'call', baseline: 'bare', connections: 32, metric: 'rate', target: { least: 0.65 } },
  { row: 3, of: 'call', baseline: 'bare', connections: 128, metric: 'rate', target: { least: 0.6 } },
  { row: 4, of: 'ws-call', baseline: 'bare-ws', connections: 32, metric: 'rate', target: { least: 0.4 } },
  { row: 4, of: 'ws-call', baseline: 'bare-ws', connections: 128, metric: 'rate', target: { least: 0.5 } },
  { row: 4, of: 'ws-call', baseline: 'floor-ws', connections: 32, metric: 'rate', target: {} },
  { row: 4, of: 'ws-call', baseline: 'floor-ws', connections: 128, metric: 'rate', target: {} },
  { row: 5, of: 'edge-answer', baseline: 'bare', connections: 32, metric: 'rate', target: { least: 1 } },
  { row: 5, of: 'edge-answer', baseline: 'bare', connections: 128, metric: 'rate', target: { least: 1 } },
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

/** Rows with the same key share one measurement. */
export function groupKey({ of, connections, perSecond }: Pick<Row, 'of' | 'connections' | 'perSecond'> | Group): string {
  return `${of} ${connections} ${perSecond}`;
}

/** Groups the subjects that have to be measured side by side for the given rows. */
export function groupRows(requestedItems: readonly Row[]): Group[] {
  const groups = new Map<string, Group>();
  for (const row of requestedItems) {
    const { of, connections, perSecond, baseline } = row;
    const group = groups.get(groupKey(row)) ?? { of, connections, perSecond, baselines: [] };
    if (!group.baselines.includes(baseline)) group.baselines.push(baseline);
    groups.set(groupKey(row), group);
  }
  return [...groups.values()];
}

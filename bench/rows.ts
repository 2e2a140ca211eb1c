import type { LoadPlan } from './load-plan.ts';
import type { Target } from './statistics.ts';
import type { SubjectName } from './subject.ts';

export type Metric = 'rate' | 'p50' | 'cpu' | 'edge-cpu';

/** What is asked of ours, over which route. */
export type CaseName = 'call' | 'ws-call' | 'edge-answer';

export interface Case {
  kind: LoadPlan['kind'];
  method: string;
  what: string;
}

/** `gateway.status` is the cheapest read of a service: no disk, no state, 0.9 KiB. */
export const cases: Readonly<Record<CaseName, Case>> = {
  call: { kind: 'http', method: 'gateway.status', what: 'POST /rpc gateway.status' },
  'ws-call': { kind: 'ws', method: 'gateway.status', what: 'WS gateway.status' },
  'edge-answer': { kind: 'http', method: 'system.ping', what: 'POST /rpc system.ping' },
};

/** A claim about ours against one baseline. */
export interface Row {
  row: number;
  of: CaseName;
  baseline: SubjectName;
  connections: number;
  metric: Metric;
  /** None where the ratio is only for information. */
  target: Target;
}

/** What is claimed; the measurements follow from it. */
export const rows: readonly Row[] = [
  { row: 1, of: 'call', baseline: 'floor', connections: 32, metric: 'rate', target: { least: 0.8 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 128, metric: 'rate', target: { least: 0.8 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 1, metric: 'p50', target: { most: 1.25 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 32, metric: 'edge-cpu', target: { most: 1.3 } },
  { row: 1, of: 'call', baseline: 'floor', connections: 128, metric: 'edge-cpu', target: { most: 1.3 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 32, metric: 'rate', target: { least: 2.2 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 128, metric: 'rate', target: { least: 2.2 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 32, metric: 'cpu', target: { most: 0.4 } },
  { row: 2, of: 'call', baseline: 'naive', connections: 128, metric: 'cpu', target: { most: 0.4 } },
  { row: 3, of: 'call', baseline: 'bare', connections: 32, metric: 'rate', target: { least: 0.65 } },
  { row: 3, of: 'call', baseline: 'bare', connections: 128, metric: 'rate', target: { least: 0.6 } },
  { row: 4, of: 'ws-call', baseline: 'bare-ws', connections: 32, metric: 'rate', target: { least: 0.4 } },
  { row: 4, of: 'ws-call', baseline: 'bare-ws', connections: 128, metric: 'rate', target: { least: 0.5 } },
  { row: 4, of: 'ws-call', baseline: 'floor-ws', connections: 32, metric: 'rate', target: {} },
  { row: 4, of: 'ws-call', baseline: 'floor-ws', connections: 128, metric: 'rate', target: {} },
  { row: 5, of: 'edge-answer', baseline: 'bare', connections: 32, metric: 'rate', target: { least: 0.8 } },
  { row: 5, of: 'edge-answer', baseline: 'bare', connections: 128, metric: 'rate', target: { least: 0.8 } },
  { row: 5, of: 'edge-answer', baseline: 'bare', connections: 1, metric: 'p50', target: { most: 1.25 } },
];

export interface Group {
  of: CaseName;
  connections: number;
  baselines: SubjectName[];
}

/** What must be measured side by side for these rows. */
export function groupsOf(wanted: readonly Row[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { of, connections, baseline } of wanted) {
    const key = `${of} ${connections}`;
    const group = groups.get(key) ?? { of, connections, baselines: [] };
    if (!group.baselines.includes(baseline)) group.baselines.push(baseline);
    groups.set(key, group);
  }
  return [...groups.values()];
}

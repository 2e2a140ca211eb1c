/** One measurement, as the load generator is told to make it. */
export interface LoadPlan {
  kind: 'http' | 'ws';
  /** `http://127.0.0.1:port`. */
  url: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** Every answer must be a JSON-RPC result; only an echo is excused. */
  expectResult: boolean;
  /** One request in flight on each. */
  connections: number;
  warmMs: number;
  ms: number;
  /** Whose processor time is read, at both ends of the measurement. */
  pids: number[];
}

export interface LoadResult {
  requests: number;
  failures: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** Processor seconds by pid. */
  cpu: Record<number, number>;
  /** Cores that worked for somebody else meanwhile. */
  strangers: number;
  /** When, in microseconds of the monotonic clock: what a profile is cut by. */
  from: number;
  to: number;
}

/** What the process says: first `ready`, then a result for each plan. */
export type LoadReport = { ready: true } | { result: LoadResult } | { failed: string };

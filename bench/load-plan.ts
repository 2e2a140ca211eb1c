/** Placeholder in a path or a body. It is replaced by a session id, which changes after `TURNS_PER_SESSION` requests. */
export const SESSION = '%session%';
export const TURNS_PER_SESSION = 20;

/** One measurement of the load generator. */
export interface LoadPlan {
  kind: 'http' | 'ws';
  /** `http://127.0.0.1:port`. */
  url: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** First message on a WebSocket; the load starts after its response. */
  greeting?: string | undefined;
  /** Kind of response that counts as a success: a JSON-RPC result, a completion, all chunks of a completion, `ok`, or anything (an echo). */
  expect: 'result' | 'completion' | 'chunks' | 'ok' | 'anything';
  /** Number of connections, with one request in flight on each. */
  connections: number;
  /** Requests per second of an open loop, which does not wait for responses. Unset: a closed loop, where each request follows a response. */
  perSecond?: number | undefined;
  warmMs: number;
  /** Warm-up continues until this number of responses, for at most `MAX_WARM_MS`. */
  warmRequests?: number | undefined;
  ms: number;
  /** Processes whose CPU time is read before and after the measurement. */
  pids: number[];
  /** Further processes that belong to the measurement, such as the shared upstream; their CPU time is not foreign load. */
  excludedPids?: readonly number[];
}

export interface LoadResult {
  requests: number;
  /** Responses during warm-up. */
  warmed: number;
  failures: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** Time to the first byte of the body; equal to the time to the end when the response arrives in one piece. */
  firstMs: number;
  /** Open loop: delay of the load generator itself, at p99. */
  lateMs: number;
  /** Processor seconds by pid. */
  cpu: Record<number, number>;
  /** Cores used by foreign processes during the measurement. */
  foreignCores: number;
  /** Start in microseconds of the monotonic clock. A profile is cut at `from` and `to`. */
  from: number;
  to: number;
}

/** Messages of the load process: first `ready`, then one result per plan. */
export type LoadReport = { ready: true } | { result: LoadResult } | { failed: string };

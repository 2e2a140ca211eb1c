/** Stands in a path or a body for the session that the connection speaks in: after so many requests it is a new one, never one that was. */
export const SESSION = '%session%';
export const TURNS_IN_A_SESSION = 20;

/** One measurement, as the load generator is told to make it. */
export interface LoadPlan {
  kind: 'http' | 'ws';
  /** `http://127.0.0.1:port`. */
  url: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** Over a WebSocket: said first, and answered before anything else is asked. */
  greeting?: string | undefined;
  /** What every answer must be: a JSON-RPC result, a completion, the chunks of one up to its end, `ok`. Only an echo is excused. */
  expect: 'result' | 'completion' | 'chunks' | 'ok' | 'anything';
  /** One request in flight on each. */
  connections: number;
  /** Requests come so often a second, whether the last ones are answered or not. Without, each follows an answer: a closed loop. */
  perSecond?: number | undefined;
  warmMs: number;
  /** It goes on being warmed until so many were answered, for as long as may be waited for that. */
  warmRequests?: number | undefined;
  ms: number;
  /** Whose processor time is read, at both ends of the measurement. */
  pids: number[];
  /** Who works along and is no stranger, such as the upstream of everybody. */
  beside?: readonly number[];
}

export interface LoadResult {
  requests: number;
  /** Answered before that. */
  warmed: number;
  failures: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** Until the first byte of an answer's body; that of its end where it comes in one piece. */
  firstMs: number;
  /** Of requests that come by the clock: how late the load generator itself was with them, at p99. */
  lateMs: number;
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

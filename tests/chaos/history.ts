import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Fault } from './plan.ts';

/** Milliseconds of the monotonic clock that all processes of this machine share. */
export function clockMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

export type Door = 'rpc' | 'ws' | 'chat' | 'sse';

/** A request of a client. */
export interface RequestParams {
  /** One attempt. The message identifies the turn, because no other turn has it; retries send the same key. */
  turn: { session: string; agent: string; message: string; says: Saying; uses?: readonly Use[]; door: Door; key?: string };
  /** The key of another turn with a different message; the request must be rejected. */
  reuse: { key: string; message: string; door: Door };
  read: { session: string };
  reset: { session: string };
  mint: { token: string };
  rotate: { token: string };
  revoke: { token: string };
  /** A call with the secret of a token after this many rotations, `within` its scopes or not. */
  use: { token: string; rotations: number; within: boolean };
  /** A subscription to the tenant's events, from now on or from a position. */
  listen: { after?: string };
  fault: Fault;
}

/** The output of the scripted model. */
export interface Saying {
  /** The answer: the text of the last step. */
  response: string;
  /** The text of all steps, as a stream delivers it. */
  whole: string;
}

/** A tool that the scripted model calls, and the name under which its executions are counted. */
export interface Use {
  tool: 'dev_act' | 'dev_look';
  name: string;
}

/** The outcome that a client observed. */
export interface Told {
  turn: { response: string };
  reuse: { response: string };
  read: { messages: string[] };
  reset: object;
  mint: object;
  rotate: object;
  revoke: object;
  use: object;
  listen: object;
  fault: { did: string };
}

export type Kind = keyof RequestParams;

export interface Failure {
  code: string;
  reason?: string;
  /** Id of an accepted turn. */
  turnId?: string;
  retryable?: boolean;
}

/** An event of a stream as an EventSource delivers it. */
export interface StreamEvent {
  id: string;
  name: string;
  delta?: string;
  accumulated?: string;
  response?: string;
  /** For a reset: the position of the client, and the position from which the stream is complete. */
  from?: string;
  to?: string;
}

interface Invocation<K extends Kind> {
  type: 'invoke';
  client: string;
  f: K;
  request: RequestParams[K];
}

/** A line of the history. The history is append-only. */
export type Entry = { at: number; op: number } & (
  | { [K in Kind]: Invocation<K> }[Kind]
  | { type: 'ok'; response: Told[Kind] }
  /** It did not and will not take effect. */
  | { type: 'failed'; failure: Failure }
  /** The outcome is unknown: it may have taken effect, or still may. */
  | { type: 'unknown'; failure: Failure }
  | { type: 'heard'; event: StreamEvent }
);

/** A running operation. The first of the three outcomes ends it. */
export interface Trying<K extends Kind> {
  ok(response: Told[K]): void;
  failed(failure: Failure): void;
  unknown(failure: Failure): void;
  heard(event: StreamEvent): void;
}

export interface History extends Disposable {
  begin<K extends Kind>(client: string, f: K, request: RequestParams[K]): Trying<K>;
}

/** Writes line by line, so that the history survives a crash of this process. */
export function openHistory(file: string): History {
  const fd = openSync(file, 'a', 0o600);
  let last = 0;
  let closed = false;
  // Operations that still run at the end have an unknown outcome.
  const write = (entry: Entry): void => void (closed || writeSync(fd, `${JSON.stringify(entry)}\n`));
  return {
    begin(client, f, request) {
      const op = (last += 1);
      // TypeScript cannot relate `f` to `request` across the union, so this line alone needs an assertion.
      write({ at: clockMs(), op, type: 'invoke', client, f, request } satisfies { at: number; op: number } & Invocation<typeof f> as Entry);
      return {
        ok: (response) => write({ at: clockMs(), op, type: 'ok', response }),
        failed: (failure) => write({ at: clockMs(), op, type: 'failed', failure }),
        unknown: (failure) => write({ at: clockMs(), op, type: 'unknown', failure }),
        heard: (event) => write({ at: clockMs(), op, type: 'heard', event }),
      };
    },
    [Symbol.dispose]() {
      closed = true;
      closeSync(fd);
    },
  };
}

/** Reads a file of JSON lines. A truncated last line is ignored. */
export function readLines<T>(file: string): T[] {
  const text = readFileSync(file, 'utf8');
  const fullText = text.slice(0, text.lastIndexOf('\n') + 1);
  return fullText.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as T]));
}

/** An operation with its outcome. */
export interface Operation<K extends Kind = Kind> {
  op: number;
  client: string;
  f: K;
  request: RequestParams[K];
  from: number;
  /** Time at which the outcome was known; Infinity if it is unknown. */
  to: number;
  outcome: 'ok' | 'failed' | 'unknown';
  response?: Told[K];
  failure?: Failure;
  receivedMessages: { at: number; event: StreamEvent }[];
}

/** Joins invocations and outcomes, in the order of invocation. */
export function operations(entries: readonly Entry[]): Operation[] {
  const all = new Map<number, Operation>();
  for (const entry of entries) {
    if (entry.type === 'invoke') {
      const { op, client, f, request, at } = entry;
      all.set(op, { op, client, f, request, from: at, to: Infinity, outcome: 'unknown', receivedMessages: [] });
      continue;
    }
    const operation = all.get(entry.op);
    if (!operation) throw new Error(`line for operation ${entry.op}, which nobody began`);
    if (entry.type === 'heard') operation.receivedMessages.push({ at: entry.at, event: entry.event });
    else end(operation, entry);
  }
  return [...all.values()];
}

function end(operation: Operation, entry: Exclude<Entry, { type: 'invoke' | 'heard' }>): void {
  operation.outcome = entry.type;
  if (entry.type !== 'unknown') operation.to = entry.at;
  if (entry.type === 'ok') operation.response = entry.response;
  else operation.failure = entry.failure;
}

export function only<K extends Kind>(all: readonly Operation[], f: K): Operation<K>[] {
  return all.filter((operation) => operation.f === f) as unknown as Operation<K>[];
}

import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Fault } from './plan.ts';

/** Milliseconds of a clock that all processes of this machine share, and that nobody sets. */
export function clockMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

export type Door = 'rpc' | 'ws' | 'chat' | 'sse';

/** What a client asked for. */
export interface Asked {
  /** One attempt. A message is never used for another turn, so it names the turn; its retries bring the same key. */
  turn: { session: string; agent: string; message: string; says: Saying; uses?: readonly Use[]; door: Door; key?: string };
  /** The key of a turn with another message: it must be refused. */
  reuse: { key: string; message: string; door: Door };
  read: { session: string };
  reset: { session: string };
  mint: { token: string };
  rotate: { token: string };
  revoke: { token: string };
  /** A call with the secret that a token had after so many rotations; `within` its scopes or not. */
  use: { token: string; rotations: number; within: boolean };
  /** To hear of the events of its tenant: from now on, or from where it was. */
  listen: { after?: string };
  fault: Fault;
}

/** What a model that is told what to say says. */
export interface Saying {
  /** The answer, which is what its last step said. */
  response: string;
  /** What all steps said, as a stream has it. */
  whole: string;
}

/** A tool that a model is told to use, and the name under which its executions are counted. */
export interface Use {
  tool: 'dev_act' | 'dev_look';
  name: string;
}

/** What a client was told. */
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

export type Kind = keyof Asked;

export interface Failure {
  code: string;
  reason?: string;
  /** Of a turn that was accepted. */
  turnId?: string;
  retryable?: boolean;
}

/** An event of a stream, as an EventSource gave it. */
export interface StreamEvent {
  id: string;
  name: string;
  delta?: string;
  accumulated?: string;
  response?: string;
  /** Of a stream of events that begins anew: the place that the client was at, and the one from which on nothing is missing. */
  from?: string;
  to?: string;
}

/** A line of the history. It is only ever added to. */
export type Entry = { at: number; op: number } & (
  | { [K in Kind]: { type: 'invoke'; client: string; f: K; asked: Asked[K] } }[Kind]
  | { type: 'ok'; told: Told[Kind] }
  /** It did not happen, and will not. */
  | { type: 'failed'; failure: Failure }
  /** Nobody knows: it may have happened, or still will. */
  | { type: 'unknown'; failure: Failure }
  | { type: 'heard'; event: StreamEvent }
);

/** Something that is being tried. It ends with the first of its three endings. */
export interface Trying<K extends Kind> {
  ok(told: Told[K]): void;
  failed(failure: Failure): void;
  unknown(failure: Failure): void;
  heard(event: StreamEvent): void;
}

export interface History extends Disposable {
  begin<K extends Kind>(client: string, f: K, asked: Asked[K]): Trying<K>;
}

/** Writes line by line, so that what happened is there whatever becomes of this process. */
export function openHistory(file: string): History {
  const fd = openSync(file, 'a', 0o600);
  let last = 0;
  let closed = false;
  // What is still being tried when the run is over stays unknown.
  const write = (line: object): void => void (closed || writeSync(fd, `${JSON.stringify({ at: clockMs(), ...line })}\n`));
  return {
    begin(client, f, asked) {
      const op = (last += 1);
      write({ op, type: 'invoke', client, f, asked });
      return {
        ok: (told) => write({ op, type: 'ok', told }),
        failed: (failure) => write({ op, type: 'failed', failure }),
        unknown: (failure) => write({ op, type: 'unknown', failure }),
        heard: (event) => write({ op, type: 'heard', event }),
      };
    },
    [Symbol.dispose]() {
      closed = true;
      closeSync(fd);
    },
  };
}

/** The lines of a file of JSON lines. A last one that was cut off is none. */
export function readLines<T>(file: string): T[] {
  const text = readFileSync(file, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as T]));
}

/** An invocation with what came of it. */
export interface Operation<K extends Kind = Kind> {
  op: number;
  client: string;
  f: K;
  asked: Asked[K];
  from: number;
  /** When its end was known; never, where nothing is known. */
  to: number;
  outcome: 'ok' | 'failed' | 'unknown';
  told?: Told[K];
  failure?: Failure;
  heard: { at: number; event: StreamEvent }[];
}

/** Invocations and endings brought together, in the order in which they were begun. */
export function operations(entries: readonly Entry[]): Operation[] {
  const all = new Map<number, Operation>();
  for (const entry of entries) {
    if (entry.type === 'invoke') {
      const { op, client, f, asked, at } = entry;
      all.set(op, { op, client, f, asked, from: at, to: Infinity, outcome: 'unknown', heard: [] });
      continue;
    }
    const operation = all.get(entry.op);
    if (!operation) throw new Error(`line for operation ${entry.op}, which nobody began`);
    if (entry.type === 'heard') operation.heard.push({ at: entry.at, event: entry.event });
    else end(operation, entry);
  }
  return [...all.values()];
}

function end(operation: Operation, entry: Exclude<Entry, { type: 'invoke' | 'heard' }>): void {
  operation.outcome = entry.type;
  if (entry.type !== 'unknown') operation.to = entry.at;
  if (entry.type === 'ok') operation.told = entry.told;
  else operation.failure = entry.failure;
}

export function only<K extends Kind>(all: readonly Operation[], f: K): Operation<K>[] {
  return all.filter((operation) => operation.f === f) as unknown as Operation<K>[];
}

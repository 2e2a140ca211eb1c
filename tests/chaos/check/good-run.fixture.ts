import type { LoggedEvent } from '../event-log.ts';
import type { Executed, FinalSession, FinalTurn } from '../final-state.ts';
import type { RequestParams, Door, Entry, Failure, Kind, StreamEvent, Told, Use } from '../history.ts';
import type { Note } from '../witness/notes.ts';
import type { Evidence } from './known.ts';

/** A small recording of a correct run. Each call returns a new one, which the test then changes. */
export interface GoodRun extends Evidence {
  history: Entry[];
  notes: Note[];
  events: LoggedEvent[];
  final: { left: string[]; sessions: FinalSession[]; turns: FinalTurn[]; executions: Executed[] };
}

interface Ending {
  response?: Told[Kind];
  failure?: Failure;
  unknown?: true;
  events?: readonly StreamEvent[];
}

/** Adds an operation that starts at the given time and takes ten milliseconds. */
export function add<K extends Kind>(run: GoodRun, at: number, [f, request]: readonly [K, RequestParams[K]], ending: Ending): number {
  const op = run.history.filter(({ type }) => type === 'invoke').length + 1;
  run.history.push({ at, op, type: 'invoke', client: 'c', f, request } as Entry);
  for (const event of ending.events ?? []) run.history.push({ at: at + 5, op, type: 'heard', event });
  const failure = ending.failure ?? { code: 'LOST' };
  if (ending.response) run.history.push({ at: at + 10, op, type: 'ok', response: ending.response });
  else run.history.push({ at: at + 10, op, type: ending.unknown ? 'unknown' : 'failed', failure });
  return op;
}

export function turn(message: string, door: Door, session = 'one'): readonly ['turn', RequestParams['turn']] {
  const says = { response: `${message}!`, whole: `${message}!` };
  const uses = USES.get(message);
  return ['turn', { session, agent: 'default', message, says, door, key: `key-${message}`, ...(uses ? { uses } : {}) }];
}

export function tokenEvent(n: number, delta: string, accumulated: string): StreamEvent {
  return { id: `turn_b:${n}`, name: 'token', delta, accumulated };
}

/** The acting tool was executed once, the repeatable one twice. */
const USES: ReadonlyMap<string, readonly Use[]> = new Map([
  [
    'a',
    [
      { tool: 'dev_act', name: 'a.0' },
      { tool: 'dev_look', name: 'a.1' },
    ],
  ],
]);

const HELD: readonly Failure[] = [{ code: 'UNAUTHENTICATED' }, { code: 'INTERNAL', reason: 'FORBIDDEN' }];

export function goodRun(): GoodRun {
  const run: GoodRun = { history: [], notes: [], events: [], final: { left: [], sessions: [], turns: [], executions: [] } };
  add(run, 0, turn('a', 'rpc'), { unknown: true });
  add(run, 20, turn('a', 'ws'), { response: { response: 'a!' } });
  const events = [tokenEvent(2, 'b', 'b'), tokenEvent(4, '!', 'b!'), { id: 'turn_b:5', name: 'done', response: 'b!' }];
  add(run, 40, turn('b', 'sse'), { response: { response: 'b!' }, events });
  add(run, 60, ['read', { session: 'one' }], { response: { messages: ['a', 'a!', 'b', 'b!'] } });
  add(run, 80, ['reuse', { key: 'key-a', message: 'x', door: 'rpc' }], {
    failure: { code: 'INVALID_ARGUMENT', reason: 'IDEMPOTENCY_MISMATCH' },
  });
  add(run, 100, turn('c', 'rpc', 'two'), { response: { response: 'c!' } });
  add(run, 120, ['reset', { session: 'two' }], { response: {} });
  add(run, 140, turn('d', 'rpc', 'two'), { response: { response: 'd!' } });
  add(run, 160, ['read', { session: 'two' }], { response: { messages: ['d', 'd!'] } });
  addTokens(run);
  addEvents(run);
  run.notes.push(...['a', 'b', 'c', 'd'].flatMap((name, at) => getNotes(name, at)));
  run.notes.push(
    { ...note('call', 'session.history', 70), input: { channelId: 'a' } },
    { ...note('call', 'session.history', 80), input: { channelId: 'a' } },
  );
  run.final.executions.push({ name: 'a.0', key: 'turn_a/1/0' }, ...['a.1', 'a.1'].map((name) => ({ name, key: 'turn_a/1/1' })));
  run.final.turns.push(...['a', 'b'].map((name, at) => finalTurn(name, 'one', at + 1)), finalTurn('c', 'two', 1), finalTurn('d', 'two', 2));
  for (const each of run.final.turns) if (each.message === 'c') each.epoch = 'before';
  run.final.sessions.push(finalSession('one', 4, 2), finalSession('two', 2, 2));
  return run;
}

function addTokens(run: GoodRun): void {
  const [unauthenticated, forbidden] = HELD;
  add(run, 200, ['mint', { token: 't' }], { response: {} });
  add(run, 220, ['use', { token: 't', rotations: 0, within: true }], { response: {} });
  add(run, 240, ['use', { token: 't', rotations: 0, within: false }], { failure: forbidden! });
  add(run, 260, ['rotate', { token: 't' }], { response: {} });
  add(run, 10_000, ['use', { token: 't', rotations: 0, within: true }], { failure: unauthenticated! });
  add(run, 10_020, ['use', { token: 't', rotations: 1, within: true }], { response: {} });
  add(run, 10_040, ['revoke', { token: 't' }], { response: {} });
  add(run, 20_000, ['use', { token: 't', rotations: 1, within: true }], { failure: unauthenticated! });
}

/** A log that was lost after its third event, and its successor; a client that reconnected, and one that named its position. */
function addEvents(run: GoodRun): void {
  const logged = (log: string, seq: number, tenant = 'default'): void => void run.events.push({ log, seq, name: 'message:sent', tenant });
  for (const seq of [1, 2, 3]) logged('old', seq, seq === 2 ? 'elsewhere' : 'default');
  for (const seq of [1, 2, 3, 4]) logged('new', seq);
  const event = (id: string): StreamEvent => ({ id, name: 'message:sent' });
  const reset = { id: 'new-1', name: 'stream:reset', from: 'old-3', to: 'new-1' };
  add(run, 400, ['listen', {}], { unknown: true, events: [event('old-1'), event('old-3'), reset, event('new-2')] });
  add(run, 420, ['listen', { after: 'new-2' }], { response: {}, events: [event('new-3'), event('new-4')] });
}

function note(description: string, id: string, from: number): Note {
  return { replica: 'sessions-1', pid: 1, from, to: from + 2, what: description, id };
}

function getNotes(name: string, at: number): Note[] {
  const [id, session, from] = [`turn_${name}`, at < 2 ? 'one' : 'two', at * 100];
  return [
    { ...note('accept', id, from), fence: 0, state: 'queued' },
    { ...note('enter', session, from + 3), fence: 10 + at },
    { ...note('take', id, from + 6), fence: 10 + at, state: 'running' },
    { ...note('commit', id, from + 9), fence: 10 + at, state: 'done' },
    { ...note('settle', session, from + 12), fence: 10 + at, counted: (at % 2) + 1 },
  ];
}

export function finalTurn(name: string, session: string, seq: number): FinalTurn {
  return { turnId: `turn_${name}`, session, message: name, response: `${name}!`, state: 'done', fence: 10, attempts: 1, seq, epoch: 'now' };
}

function finalSession(session: string, messageCount: number, lastSeq: number): FinalSession {
  return { session, key: `default:env:${session}`, epoch: 'now', depth: 0, leaseUntil: 0, lastSeq, messageCount };
}

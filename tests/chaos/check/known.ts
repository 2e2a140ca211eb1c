import type { LoggedEvent } from '../event-log.ts';
import type { Executed, Final, FinalSession, FinalTurn } from '../final-state.ts';
import { only, operations, type Entry, type Operation } from '../history.ts';
import type { Note } from '../witness/notes.ts';

/** A broken invariant. */
export interface Violation {
  invariant: string;
  what: string;
}

/** The recording of a run: observations of the clients, writes of the sessions processes, the event log and the final state. */
export interface Evidence {
  history: readonly Entry[];
  notes: readonly Note[];
  /** The event log as read directly from the server. */
  events: readonly LoggedEvent[];
  final: Final;
}

/** A turn as its clients know it, identified by its message. */
export interface RequestParams {
  message: string;
  session: string;
  attempts: Operation<'turn'>[];
  /** Time of the first request. */
  from: number;
  /** Time at which a client first knew that it was accepted; Infinity if none did. */
  acceptedBy: number;
}

/** The recording, indexed for the checks. */
export interface Known {
  all: Operation[];
  requests: Map<string, RequestParams>;
  notes: readonly Note[];
  events: readonly LoggedEvent[];
  final: Final;
  /** Tool executions by name. */
  executions: Map<string, Executed[]>;
  /** Final turns by message. */
  turns: Map<string, FinalTurn[]>;
  /** Final history of each session, turn by turn. */
  transcripts: Map<string, FinalTurn[]>;
  resets: Operation<'reset'>[];
}

export function know({ history, notes, events, final }: Evidence): Known {
  const all = operations(history);
  const attempts = Map.groupBy(only(all, 'turn'), ({ request: asked }) => asked.message);
  return {
    all,
    requests: new Map([...attempts].map(([message, ops]) => [message, toAsked(message, ops)])),
    notes,
    events,
    final,
    executions: Map.groupBy(final.executions, ({ name }) => name),
    turns: Map.groupBy(final.turns, ({ message }) => message),
    transcripts: new Map(final.sessions.map((session) => [session.session, getTranscript(session, final.turns)])),
    resets: only(all, 'reset'),
  };
}

function toAsked(message: string, attempts: Operation<'turn'>[]): RequestParams {
  const told = attempts.flatMap(({ outcome, to, receivedMessages: heard }) => [
    ...(outcome === 'ok' ? [to] : []),
    ...heard.map(({ at }) => at),
  ]);
  return {
    message,
    session: attempts[0]?.request.session ?? '',
    attempts,
    from: Math.min(...attempts.map(({ from }) => from)),
    acceptedBy: Math.min(Infinity, ...told),
  };
}

/** Completed turns of the session's epoch, as far as the session has counted them. */
function getTranscript({ session, epoch, lastSeq }: FinalSession, turns: readonly FinalTurn[]): FinalTurn[] {
  return turns
    .filter((turn) => turn.session === session && turn.state === 'done' && turn.epoch === epoch && (turn.seq ?? Infinity) <= lastSeq)
    .toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
}

/** Whether the session may have been reset after this time. */
export function mayBeEmptied({ resets }: Known, session: string, after: number): boolean {
  return resets.some(({ request: asked, outcome, to }) => asked.session === session && outcome !== 'failed' && to >= after);
}

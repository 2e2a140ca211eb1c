import type { LoggedEvent } from '../event-log.ts';
import type { Executed, Final, FinalSession, FinalTurn } from '../final-state.ts';
import { only, operations, type Entry, type Operation } from '../history.ts';
import type { Note } from '../witness/notes.ts';

/** Something that must not have happened. */
export interface Violation {
  invariant: string;
  what: string;
}

/** Everything that a run left: what clients saw, what the processes of sessions wrote, what was said, and what is there in the end. */
export interface Evidence {
  history: readonly Entry[];
  notes: readonly Note[];
  /** What the log of events had, as somebody saw who read it on the server itself. */
  events: readonly LoggedEvent[];
  final: Final;
}

/** One turn as its clients know it, by its message. */
export interface Asked {
  message: string;
  session: string;
  attempts: Operation<'turn'>[];
  /** When it was first asked for. */
  from: number;
  /** Since when somebody knew that it is accepted; never, where nobody did. */
  acceptedBy: number;
}

/** The evidence, brought into the order in which it is looked at. */
export interface Known {
  all: Operation[];
  asked: Map<string, Asked>;
  notes: readonly Note[];
  events: readonly LoggedEvent[];
  final: Final;
  /** What tools did, by the name they were given. */
  executions: Map<string, Executed[]>;
  /** Turns in the end, by their message. */
  turns: Map<string, FinalTurn[]>;
  /** What was said in each session in the end, turn by turn. */
  transcripts: Map<string, FinalTurn[]>;
  resets: Operation<'reset'>[];
}

export function know({ history, notes, events, final }: Evidence): Known {
  const all = operations(history);
  const attempts = Map.groupBy(only(all, 'turn'), ({ asked }) => asked.message);
  return {
    all,
    asked: new Map([...attempts].map(([message, ops]) => [message, toAsked(message, ops)])),
    notes,
    events,
    final,
    executions: Map.groupBy(final.executions, ({ name }) => name),
    turns: Map.groupBy(final.turns, ({ message }) => message),
    transcripts: new Map(final.sessions.map((session) => [session.session, transcriptOf(session, final.turns)])),
    resets: only(all, 'reset'),
  };
}

function toAsked(message: string, attempts: Operation<'turn'>[]): Asked {
  const told = attempts.flatMap(({ outcome, to, heard }) => [...(outcome === 'ok' ? [to] : []), ...heard.map(({ at }) => at)]);
  return {
    message,
    session: attempts[0]?.asked.session ?? '',
    attempts,
    from: Math.min(...attempts.map(({ from }) => from)),
    acceptedBy: Math.min(Infinity, ...told),
  };
}

/** The turns that are done, of the session's epoch, as far as it has counted them. */
function transcriptOf({ session, epoch, lastSeq }: FinalSession, turns: readonly FinalTurn[]): FinalTurn[] {
  return turns
    .filter((turn) => turn.session === session && turn.state === 'done' && turn.epoch === epoch && (turn.seq ?? Infinity) <= lastSeq)
    .toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
}

/** Whether a session may have been emptied after this moment. */
export function mayBeEmptied({ resets }: Known, session: string, after: number): boolean {
  return resets.some(({ asked, outcome, to }) => asked.session === session && outcome !== 'failed' && to >= after);
}

import type { Clock } from '@switchyard/service-kit';
import type { Documents } from '@switchyard/store';
import type { SessionDocument, TurnDocument } from '../data.ts';
import { lastTurns } from '../sessions/directory.ts';
import { spoken } from './spoken.ts';

/** What was asked and answered in a turn. */
export type Exchange = Pick<TurnDocument, 'turnId' | 'message' | 'joined' | 'answer'>;

/**
 * The last exchanges of sessions that are worked on here, so that a conversation that goes on here need not be read again each time.
 * A turn that counts never changes, and the number of the last one says whether what is remembered is all there is: so it may be
 * forgotten at any time, and is never wrong.
 */
export interface Recall {
  /** Newest first. */
  last(turns: Documents<TurnDocument>, where: Where, limit: number): Promise<readonly Exchange[]>;
  /** A turn was counted, of a session that was `before`. */
  add(before: Where, counted: TurnDocument): void;
}

export interface Where {
  tenant: string;
  session: SessionDocument;
}

interface Remembered {
  epoch: string;
  lastSeq: number;
  /** How many were asked for; there are fewer only where the conversation has no more. */
  limit: number;
  exchanges: readonly Exchange[];
  chars: number;
  at: number;
}

/** What an exchange takes besides its text. */
const NAMES_CHARS = 200;

export interface RecallOptions {
  mostChars: number;
  /** A conversation in which nothing was said for so long is forgotten with the next one that is remembered. */
  idleMs: () => number;
  clock: Pick<Clock, 'now'>;
}

export function createRecall({ mostChars, idleMs, clock }: RecallOptions): Recall {
  const sessions = new Map<string, Remembered>();
  let chars = 0;

  function forget(name: string): void {
    chars -= sessions.get(name)?.chars ?? 0;
    sessions.delete(name);
  }

  function remember(name: string, known: Omit<Remembered, 'chars' | 'at'>): void {
    forget(name);
    const at = clock.now();
    const held = { ...known, chars: known.exchanges.reduce((sum, one) => sum + charsOf(one), 0), at };
    sessions.set(name, held);
    chars += held.chars;
    for (const [oldest, { at: since }] of sessions) {
      if (chars <= mostChars && at - since <= idleMs()) return;
      forget(oldest);
    }
  }

  return {
    async last(turns, { tenant, session }, limit) {
      const name = `${tenant} ${session.key}`;
      const { epoch, lastSeq } = session;
      const known = sessions.get(name);
      if (known?.epoch === epoch && known.lastSeq === lastSeq && known.limit >= limit) return known.exchanges.slice(0, limit);
      const found = await lastTurns(turns, session, limit);
      const exchanges = found.map(exchangeOf);
      remember(name, { epoch, lastSeq, limit, exchanges });
      return exchanges;
    },

    add({ tenant, session }, turn) {
      const { seq, epoch } = turn;
      const name = `${tenant} ${session.key}`;
      const known = sessions.get(name);
      if (!known || seq === undefined) return;
      if (known.epoch !== epoch || known.lastSeq !== session.lastSeq) return forget(name);
      const exchanges = [exchangeOf(turn), ...known.exchanges].slice(0, known.limit);
      remember(name, { ...known, lastSeq: seq, exchanges });
    },
  };
}

function exchangeOf({ turnId, message, joined, answer }: Exchange): Exchange {
  return { turnId, message, ...(joined ? { joined } : {}), ...(answer ? { answer } : {}) };
}

function charsOf(exchange: Exchange): number {
  return spoken(exchange).reduce((sum, { said }) => sum + NAMES_CHARS / 2 + (said.text?.length ?? 0), 0);
}

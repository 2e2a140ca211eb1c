import { LRUCache } from 'lru-cache';
import type { Clock } from '@switchyard/service-kit';
import type { Documents } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { loadLastTurns } from '../sessions/session-directory.ts';
import { listMessages, type TurnMessageRef } from '../model/turn-messages.ts';

export interface TextCacheOptions {
  maxChars: number;
  /** Read at each write, because the setting may change. */
  ttlMs: () => number;
  clock: Pick<Clock, 'now'>;
}

/** An LRU cache bounded by the characters of its values. `ttlResolution: 0` reads the given clock and starts no timer. */
export function createTextCache<V extends object>({ maxChars, clock }: TextCacheOptions): LRUCache<string, V> {
  return new LRUCache<string, V>({ maxSize: maxChars, perf: clock, ttlResolution: 0 });
}

/** Question and answer of a turn. It is derived once from the turn document and reused in the prompts of later turns. */
export interface Exchange {
  messages: readonly TurnMessageRef[];
  /** Size in characters. */
  chars: number;
  /** Characters held in memory. */
  held: number;
  /** The prompt of the turn contained text from outside. */
  isTainted: boolean;
}

/**
 * Caches the last exchanges of the sessions on this replica, so that a continued conversation is not read again for each turn. A
 * counted turn is immutable, and `lastSeq` shows whether the entry is complete. Entries can therefore be evicted at any time and are
 * never stale.
 */
export interface Recall {
  /** Returns the last exchanges, newest first. */
  last(turns: Documents<TurnDocument>, location: SessionRef, limit: number): Promise<readonly Exchange[]>;
  /** Adds a counted turn to the entry of the session, which was `before` until then. */
  add(before: SessionRef, counted: TurnDocument): void;
}

export interface SessionRef {
  tenant: string;
  session: SessionDocument;
}

interface CachedExchanges {
  epoch: string;
  lastSeq: number;
  /** Requested number of exchanges. Fewer are returned only if the conversation is shorter. */
  limit: number;
  exchanges: readonly Exchange[];
  /** Total size in characters. */
  chars: number;
}

/** Overhead of a message in characters. */
const NAMES_CHARS = 100;
/** Overhead of an entry in characters. */
const ENTRY_CHARS = 1;

export function createRecall(options: TextCacheOptions): Recall {
  const sessions = createTextCache<CachedExchanges>(options);
  const remember = (name: string, known: CachedExchanges): void => {
    sessions.set(name, known, { size: ENTRY_CHARS + known.chars, ttl: options.ttlMs() });
  };

  return {
    async last(turns, { tenant, session }, limit) {
      const name = `${tenant} ${session.key}`;
      const { epoch, lastSeq } = session;
      const known = sessions.get(name);
      if (known?.epoch === epoch && known.lastSeq === lastSeq && known.limit >= limit) return known.exchanges.slice(0, limit);
      const matches = await loadLastTurns(turns, session, limit);
      const exchanges = matches.map(getExchange);
      remember(name, { epoch, lastSeq, limit, exchanges, chars: getHeld(exchanges) });
      return exchanges;
    },

    add({ tenant, session }, turn) {
      const { seq, epoch } = turn;
      const name = `${tenant} ${session.key}`;
      const known = sessions.get(name);
      if (!known || seq === undefined) return;
      if (known.epoch !== epoch || known.lastSeq !== session.lastSeq) {
        sessions.delete(name);
        return;
      }
      const added = getExchange(turn);
      const exchanges = [added, ...known.exchanges.slice(0, known.limit - 1)];
      const remaining = known.chars - getHeld(known.exchanges.slice(known.limit - 1));
      remember(name, { ...known, lastSeq: seq, exchanges, chars: remaining + added.held });
    },
  };
}

/** Renders a finished turn for the prompts of later turns. */
export function getExchange(turn: Parameters<typeof listMessages>[0] & Pick<TurnDocument, 'tainted'>): Exchange {
  const all = listMessages(turn);
  let [chars, held] = [0, 0];
  for (const { content } of all) {
    chars += content.chars;
    held += NAMES_CHARS + (content.text?.length ?? 0);
  }
  return { messages: all, chars, held, isTainted: turn.tainted === true };
}

function getHeld(exchanges: readonly Exchange[]): number {
  return exchanges.reduce((sum, { held }) => sum + held, 0);
}

import { LRUCache } from 'lru-cache';
import { MAX_NOTES, MAX_TTL_MS, type Board } from '../port/cache.ts';
import { checkNote } from '../port/validation.ts';

/** Board names are constants of the code, so there are few. */
const MAX_BOARDS = 1_000;

interface StoredNote {
  seq: number;
  by: symbol;
  at: number;
  text: string;
}

/** The boards of this process, by entry name. */
export function createBoards(): { open(name: string, keepMs: number): Board } {
  const boards = new LRUCache<string, StoredNote[]>({ max: MAX_BOARDS, ttl: MAX_TTL_MS });
  let seq = 0;

  function leave(name: string, note: Omit<StoredNote, 'seq'>, keepMs: number): void {
    const kept = [...(boards.get(name) ?? []), { ...note, seq: ++seq }].slice(-MAX_NOTES);
    boards.set(name, kept, { ttl: keepMs });
  }

  return {
    open(name, keepMs) {
      const by = Symbol('reader');
      let read = 0;
      return {
        async exchange(note) {
          const at = performance.now();
          if (note !== undefined) {
            checkNote(note);
            leave(name, { by, at, text: note }, keepMs);
          }
          const fresh = (boards.get(name) ?? []).filter((one) => one.seq > read);
          read = seq;
          return fresh.filter((one) => one.by !== by && at - one.at < keepMs).map(({ text, at: left }) => ({ text, ageMs: at - left }));
        },
      };
    },
  };
}

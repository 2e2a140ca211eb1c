import { LRUCache } from 'lru-cache';
import { MAX_NOTES, MAX_TTL_MS, type Board } from '../port/cache.ts';
import { checkNote } from '../port/validation.ts';

/** Board names are constants of the code, so there are few. */
const MAX_BOARDS = 1_000;

interface StoredNote {
  seq: number;
  readerId: symbol;
  at: number;
  text: string;
}

/** The boards of this process, by entry name. */
export function createBoards(): { open(name: string, keepMs: number): Board } {
  const boards = new LRUCache<string, StoredNote[]>({ max: MAX_BOARDS, ttl: MAX_TTL_MS });
  let seq = 0;

  function addNote(name: string, note: Omit<StoredNote, 'seq'>, keepMs: number): void {
    const notes = [...(boards.get(name) ?? []), { ...note, seq: ++seq }].slice(-MAX_NOTES);
    boards.set(name, notes, { ttl: keepMs });
  }

  return {
    open(name, keepMs) {
      const readerId = Symbol('reader');
      let lastSeq = 0;
      return {
        async exchange(note) {
          const at = performance.now();
          if (note !== undefined) {
            checkNote(note);
            addNote(name, { readerId, at, text: note }, keepMs);
          }
          const fresh = (boards.get(name) ?? []).filter((one) => one.seq > lastSeq);
          lastSeq = seq;
          return fresh
            .filter((one) => one.readerId !== readerId && at - one.at < keepMs)
            .map((note) => ({ text: note.text, ageMs: at - note.at }));
        },
      };
    },
  };
}

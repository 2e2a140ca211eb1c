import { randomUUID } from 'node:crypto';
import type { Board, Note } from '../port/cache.ts';
import { checkNote } from '../port/validation.ts';
import type { RedisClient } from './connect-redis.ts';

/** Undefined when the server did not answer in time, or was not asked because it does not answer these days. */
export type ExecuteCommand = <T>(command: () => Promise<T>) => Promise<{ answer: T } | undefined>;

interface BoardOptions {
  client: RedisClient;
  ask: ExecuteCommand;
  /** Its name on the server. */
  entry: string;
  keepMs: number;
}

/** Notes in a stream. How far it has read, each reader knows itself; it does not read its own. */
export function createRedisBoard({ client, ask, entry, keepMs }: BoardOptions): Board {
  const by = randomUUID();
  let read = '';
  return {
    async exchange(note) {
      if (note !== undefined) checkNote(note);
      const asked = await ask(() => client.switchyardExchange(entry, by, keepMs, read, ...(note === undefined ? [] : [note])));
      if (asked === undefined) return [];
      const [upTo, ...notes] = asked.answer;
      read = upTo;
      return readNotes(notes);
    },
  };
}

/** Age and text in turn. */
function readNotes(answer: readonly string[]): Note[] {
  const notes: Note[] = [];
  for (let at = 0; at + 1 < answer.length; at += 2) notes.push({ ageMs: Number(answer[at]), text: answer[at + 1] ?? '' });
  return notes;
}

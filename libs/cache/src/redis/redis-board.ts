import { randomUUID } from 'node:crypto';
import type { Board, Note } from '../port/cache.ts';
import { checkNote } from '../port/validation.ts';
import type { RedisClient } from './connect-redis.ts';

/** Undefined if the server did not answer in time or the circuit breaker is open. */
export type ExecuteCommand = <T>(command: () => Promise<T>) => Promise<{ answer: T } | undefined>;

interface BoardOptions {
  client: RedisClient;
  execute: ExecuteCommand;
  /** Entry name on the server. */
  entry: string;
  keepMs: number;
}

/** A board in a Redis stream. Each reader tracks its own position and skips its own notes. */
export function createRedisBoard({ client, execute, entry, keepMs }: BoardOptions): Board {
  const readerId = randomUUID();
  let position = '';
  return {
    async exchange(note) {
      if (note !== undefined) checkNote(note);
      const reply = await execute(() =>
        client.switchyardExchange(entry, readerId, keepMs, position, ...(note === undefined ? [] : [note])),
      );
      if (reply === undefined) return [];
      const [upTo, ...notes] = reply.answer;
      position = upTo;
      return readNotes(notes);
    },
  };
}

/** The reply alternates age and text. */
function readNotes(answer: readonly string[]): Note[] {
  const notes: Note[] = [];
  for (let at = 0; at + 1 < answer.length; at += 2) notes.push({ ageMs: Number(answer[at]), text: answer[at + 1] ?? '' });
  return notes;
}

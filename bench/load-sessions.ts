import { randomUUID } from 'node:crypto';
import { SESSION, TURNS_PER_SESSION } from './load-plan.ts';

/**
 * Returns a function that makes the next request of a connection with its session id in the texts. A session ends after
 * `TURNS_PER_SESSION` turns, because the cost of a turn grows with its conversation. Connections start new sessions at different
 * times. Texts without the placeholder give the same request each time.
 */
export function createSessionRequests<T>(texts: readonly string[], connection: number, make: (texts: readonly string[]) => T): () => T {
  if (!texts.some((text) => text.includes(SESSION))) {
    const always = make(texts);
    return () => always;
  }
  const began = (): T => {
    const session = `${connection}-${randomUUID()}`;
    return make(texts.map((text) => text.replaceAll(SESSION, session)));
  };
  let remaining = TURNS_PER_SESSION - (connection % TURNS_PER_SESSION);
  let current = began();
  return () => {
    if (remaining-- > 0) return current;
    remaining = TURNS_PER_SESSION - 1;
    return (current = began());
  };
}

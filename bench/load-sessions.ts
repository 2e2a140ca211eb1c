import { randomUUID } from 'node:crypto';
import { SESSION, TURNS_IN_A_SESSION } from './load-plan.ts';

/**
 * What a connection asks next: `make` of the texts, in which its session is named. A session that went on as long as it is measured
 * would make turns dearer the longer that takes, and who keeps the whole conversation dearer than who forgets it. Connections begin
 * new ones at different times. Where no session is named, everything asked is the same bytes.
 */
export function inSessions<T>(texts: readonly string[], connection: number, make: (texts: readonly string[]) => T): () => T {
  if (!texts.some((text) => text.includes(SESSION))) {
    const always = make(texts);
    return () => always;
  }
  const began = (): T => {
    const session = `${connection}-${randomUUID()}`;
    return make(texts.map((text) => text.replaceAll(SESSION, session)));
  };
  let left = TURNS_IN_A_SESSION - (connection % TURNS_IN_A_SESSION);
  let current = began();
  return () => {
    if (left-- > 0) return current;
    left = TURNS_IN_A_SESSION - 1;
    return (current = began());
  };
}

import type { Collection, Store } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { hurry } from './session-queue.ts';
import type { Debounce } from './queue-policy.ts';

/*
 * Debouncing merges messages that arrive in quick succession into one turn. A later message is accepted, stored and queued as usual, but
 * starts only after the debounce window; it then merges the messages queued behind it (`turn-merging.ts`). The start time is part of the
 * queue entry, so that any replica can start the turn.
 */

export interface GatheringDeps {
  sessions: Collection<SessionDocument>;
  store: Pick<Store, 'now'>;
  /** Returns the debounce settings of a session; undefined when it is not debounced. */
  debounceOf: (sessionKey: string) => Debounce | undefined;
}

/** Debounce window of an arriving turn. */
export interface Gathering {
  askedAt: number;
  /** End of the window; undefined when the turn may start immediately. */
  until: number | undefined;
  mostMessages: number;
}

interface Coming {
  tenant: string;
  sessionKey: string;
  /** Commands are not delayed. */
  isCommand: () => boolean;
}

/** Returns undefined synchronously when the session is not debounced, which saves the wait. Commands are never debounced. */
export function gatheringOf(deps: GatheringDeps, coming: Coming): Promise<Gathering> | undefined {
  const debounce = deps.debounceOf(coming.sessionKey);
  return debounce && !coming.isCommand() ? gather(deps, coming, debounce) : undefined;
}

async function gather({ sessions, store }: GatheringDeps, { tenant, sessionKey }: Coming, debounce: Debounce): Promise<Gathering> {
  const { windowMs, maxBufferedMessages: mostMessages, firstMessageImmediate } = debounce;
  const askedAt = store.now();
  const before = (await sessions.for({ tenant }).get(sessionKey))?.askedAt;
  const first = before === undefined || askedAt - before >= windowMs;
  return { askedAt, until: first && firstMessageImmediate ? undefined : askedAt + windowMs, mostMessages };
}

/** Returns the remaining window of an enqueued turn in milliseconds. */
export async function stillGathers(deps: GatheringDeps, tenant: string, session: SessionDocument, gathering: Gathering): Promise<number> {
  const now = deps.store.now();
  if (session.depth < gathering.mostMessages) return Math.max(0, (gathering.until ?? now) - now);
  await hurry(deps.sessions.for({ tenant }), session.key, now);
  return 0;
}

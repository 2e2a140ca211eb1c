import type { Collection, Store } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { endDebounce } from './session-queue.ts';
import type { Debounce } from './queue-policy.ts';

/*
 * Debouncing merges messages that arrive in quick succession into one turn. A later message is accepted, stored and queued as usual, but
 * starts only after the debounce window; it then merges the messages queued behind it (`turn-merging.ts`). The start time is part of the
 * queue entry, so that any replica can start the turn.
 */

export interface DebounceDeps {
  sessions: Collection<SessionDocument>;
  store: Pick<Store, 'now'>;
  /** Returns the debounce settings of a session; undefined when it is not debounced. */
  getDebounce: (sessionKey: string) => Debounce | undefined;
}

/** Debounce window of an arriving turn. */
export interface DebounceWindow {
  receivedAt: number;
  /** End of the window; undefined when the turn may start immediately. */
  until: number | undefined;
  maxMessages: number;
}

interface DebounceRequest {
  tenant: string;
  sessionKey: string;
  /** Commands are not delayed. */
  isCommand: () => boolean;
}

/** Returns undefined synchronously when the session is not debounced, which saves the wait. Commands are never debounced. */
export function startDebounce(deps: DebounceDeps, coming: DebounceRequest): Promise<DebounceWindow> | undefined {
  const debounce = deps.getDebounce(coming.sessionKey);
  return debounce && !coming.isCommand() ? openWindow(deps, coming, debounce) : undefined;
}

async function openWindow(
  { sessions, store }: DebounceDeps,
  { tenant, sessionKey }: DebounceRequest,
  debounce: Debounce,
): Promise<DebounceWindow> {
  const { windowMs, maxBufferedMessages: mostMessages, firstMessageImmediate } = debounce;
  const askedAt = store.now();
  const before = (await sessions.for({ tenant }).get(sessionKey))?.lastMessageAt;
  const first = before === undefined || askedAt - before >= windowMs;
  return { receivedAt: askedAt, until: first && firstMessageImmediate ? undefined : askedAt + windowMs, maxMessages: mostMessages };
}

/** Returns the remaining window of an enqueued turn in milliseconds. */
export async function remainingWindowMs(
  deps: DebounceDeps,
  tenant: string,
  session: SessionDocument,
  debounceWindow: DebounceWindow,
): Promise<number> {
  const now = deps.store.now();
  if (session.depth < debounceWindow.maxMessages) return Math.max(0, (debounceWindow.until ?? now) - now);
  await endDebounce(deps.sessions.for({ tenant }), session.key, now);
  return 0;
}

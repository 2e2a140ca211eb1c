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
  /** How what is said in a session is gathered; undefined where it is not. */
  getDebounce: (sessionKey: string) => Debounce | undefined;
}

/** A turn that comes where what is said in quick succession is gathered. */
export interface DebounceWindow {
  receivedAt: number;
  /** Until when it waits for more; undefined where it begins as soon as it may. */
  until: number | undefined;
  maxMessages: number;
}

interface DebounceRequest {
  tenant: string;
  sessionKey: string;
  /** Commands are not delayed. */
  isCommand: () => boolean;
}

/** Undefined at once where nothing is gathered, which nobody waits for. A command is carried out as soon as it may. */
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

/** For how long a turn that has entered its queue still waits for more, in milliseconds. */
export async function remainingWindowMs(
  deps: DebounceDeps,
  tenant: string,
  session: SessionDocument,
  gathering: DebounceWindow,
): Promise<number> {
  const now = deps.store.now();
  if (session.depth < gathering.maxMessages) return Math.max(0, (gathering.until ?? now) - now);
  await endDebounce(deps.sessions.for({ tenant }), session.key, now);
  return 0;
}

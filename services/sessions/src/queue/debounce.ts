import type { Collection, Store } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { hurry } from './session-queue.ts';
import type { Debounce } from './queue-policy.ts';

/*
 * What is said in quick succession becomes one turn. Whoever comes soon after somebody else is accepted, written and queued as ever,
 * and does not begin before some time has passed; then it hears all that came behind it meanwhile (`turn-merging.ts`). When it may begin
 * stands in its entry of the queue, so whoever dies, another one begins it.
 */

export interface GatheringDeps {
  sessions: Collection<SessionDocument>;
  store: Pick<Store, 'now'>;
  /** How what is said in a session is gathered; undefined where it is not. */
  debounceOf: (sessionKey: string) => Debounce | undefined;
}

/** A turn that comes where what is said in quick succession is gathered. */
export interface Gathering {
  askedAt: number;
  /** Until when it waits for more; undefined where it begins as soon as it may. */
  until: number | undefined;
  mostMessages: number;
}

interface Coming {
  tenant: string;
  sessionKey: string;
  /** Commands are not delayed. */
  isCommand: () => boolean;
}

/** Undefined at once where nothing is gathered, which nobody waits for. A command is carried out as soon as it may. */
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

/** For how long a turn that has entered its queue still waits for more, in milliseconds. */
export async function stillGathers(deps: GatheringDeps, tenant: string, session: SessionDocument, gathering: Gathering): Promise<number> {
  const now = deps.store.now();
  if (session.depth < gathering.mostMessages) return Math.max(0, (gathering.until ?? now) - now);
  await hurry(deps.sessions.for({ tenant }), session.key, now);
  return 0;
}

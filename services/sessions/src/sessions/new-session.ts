import { mintId } from '@switchyard/security';
import type { Filter, OutboxEvent } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { seenBy, type Viewer } from '../model/session-ownership.ts';
import type { SessionIdentity } from '../model/session-key.ts';

/** A turn that comes to a session. */
export interface Arrival extends Viewer {
  tenant: string;
  key: string;
  identity: SessionIdentity;
  agentId: string;
  /** How the queue names the turn (`toEntry`). */
  entry: string;
  /** How many may wait behind the one that runs. */
  maxDepth: number;
  /** When it is asked, where that is to be remembered. */
  askedAt?: number | undefined;
  now: number;
}

export function newSession({ key, identity, agentId, entry, client, askedAt, now }: Arrival): {
  session: SessionDocument;
  created: OutboxEvent;
} {
  const session: SessionDocument = {
    key,
    agentId,
    userId: identity.userId,
    channelId: identity.channelId,
    ...(identity.guildId === undefined ? {} : { guildId: identity.guildId }),
    kind: identity.guildId === undefined ? 'dm' : 'group',
    epoch: mintId('epoch'),
    queue: [entry],
    depth: 1,
    owner: null,
    leaseUntil: 0,
    fence: now,
    lastSeq: 0,
    messageCount: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
    lastSteps: 0,
    createdBy: client,
    ...(askedAt === undefined ? {} : { askedAt }),
    metadata: {},
    createdAt: now,
    updatedAt: now,
  };
  return { session, created: { name: 'session:created', payload: { sessionKey: sessionKeyObject(identity), timestamp: now } } };
}

interface Entrance {
  /** Which session may be entered, at the instant of the write. */
  guard: Pick<Filter<SessionDocument>, 'createdBy' | 'agentId'> & { key: string };
  /**
   * A session of before makers were remembered, in which the client now speaks under its own name, is the client's from now on. And
   * when it was asked, where that is to be remembered.
   */
  adopted: Partial<SessionDocument>;
}

export function mayEnter(arrival: Arrival): Entrance {
  const { key, identity, client, sessions, askedAt } = arrival;
  const asked = askedAt === undefined ? {} : { askedAt };
  if (sessions === 'own' || identity.userId !== client) return { guard: { key, ...seenBy(arrival) }, adopted: asked };
  return { guard: { ...seenBy(arrival), key, createdBy: { in: [client, null] } }, adopted: { createdBy: client, ...asked } };
}

/** A session key as events carry it. */
export function sessionKeyObject(identity: SessionIdentity): Record<string, string> {
  const { tenant, ...parts } = identity;
  return { tenantId: tenant, ...parts };
}

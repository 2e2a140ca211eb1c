import { mintId } from '@switchyard/security';
import type { Filter, OutboxEvent } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { seenBy, type Viewer } from '../model/session-ownership.ts';
import type { SessionIdentity } from '../model/session-key.ts';

/** A turn that arrives at a session. */
export interface Arrival extends Viewer {
  tenant: string;
  key: string;
  identity: SessionIdentity;
  agentId: string;
  /** Queue entry of the turn (`toEntry`). */
  entry: string;
  /** Maximum number of turns behind the running one. */
  maxDepth: number;
  /** Time of arrival, kept where messages are debounced. */
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
  /** Guard that is checked at the time of the write. */
  guard: Pick<Filter<SessionDocument>, 'createdBy' | 'agentId'> & { key: string };
  /** Fields set by the write: `createdBy` if the session has none and is named after the client, and the time of the last message. */
  adopted: Partial<SessionDocument>;
}

export function mayEnter(arrival: Arrival): Entrance {
  const { key, identity, client, sessions, askedAt } = arrival;
  const asked = askedAt === undefined ? {} : { askedAt };
  if (sessions === 'own' || identity.userId !== client) return { guard: { key, ...seenBy(arrival) }, adopted: asked };
  return { guard: { ...seenBy(arrival), key, createdBy: { in: [client, null] } }, adopted: { createdBy: client, ...asked } };
}

/** Session key as events contain it. */
export function sessionKeyObject(identity: SessionIdentity): Record<string, string> {
  const { tenant, ...parts } = identity;
  return { tenantId: tenant, ...parts };
}

import { mintId } from '@switchyard/security';
import type { Filter, OutboxEvent } from '@switchyard/store';
import { isRunSession } from '../model/run-session.ts';
import type { SessionDocument } from '../model/session-document.ts';
import { visibilityFilter } from '../model/session-ownership.ts';
import type { SessionIdentity } from '../model/session-key.ts';
import { isDefaultSession, type SessionCreator } from '../model/session-names.ts';

/** A turn that arrives at a session. */
export interface TurnArrival extends SessionCreator {
  tenant: string;
  key: string;
  identity: SessionIdentity;
  agentId: string;
  /** Queue entry of the turn (`formatEntry`). */
  entry: string;
  /** Maximum number of turns behind the running one. */
  maxDepth: number;
  /** Time of arrival, kept where messages are debounced. */
  receivedAt?: number | undefined;
  now: number;
}

export function buildSession({ key, identity, agentId, entry, client, receivedAt, now }: TurnArrival): {
  session: SessionDocument;
  created: OutboxEvent;
} {
  const session: SessionDocument = {
    key,
    agentId,
    userId: identity.userId,
    channelId: identity.channelId,
    ...(identity.guildId === undefined ? {} : { guildId: identity.guildId }),
    kind: getKind(identity),
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
    ...(receivedAt === undefined ? {} : { lastMessageAt: receivedAt }),
    metadata: {},
    createdAt: now,
    updatedAt: now,
  };
  return { session, created: { name: 'session:created', payload: { sessionKey: sessionKeyObject(identity), timestamp: now } } };
}

function getKind(identity: SessionIdentity): SessionDocument['kind'] {
  if (isRunSession(identity)) return 'sub-agent';
  return identity.guildId === undefined ? 'dm' : 'group';
}

interface EntryGuard {
  /** Guard that is checked at the time of the write. */
  guard: Pick<Filter<SessionDocument>, 'createdBy' | 'agentId'> & { key: string };
  /** Fields set by the write: `createdBy` if the session is named after the client, and the time of the last message. */
  adopted: Partial<SessionDocument>;
}

export function getEntryGuard(arrival: TurnArrival): EntryGuard {
  const { key, identity, client, receivedAt } = arrival;
  const received = receivedAt === undefined ? {} : { lastMessageAt: receivedAt };
  if (identity.userId !== client) return { guard: { key, ...visibilityFilter(arrival) }, adopted: received };
  const { createdBy: _, ...allowedAgents } = visibilityFilter(arrival);
  const owners = isDefaultSession(identity) ? {} : { createdBy: { in: [client, null] } };
  return { guard: { ...allowedAgents, key, ...owners }, adopted: { createdBy: client, ...received } };
}

/** Session key as events contain it. */
export function sessionKeyObject(identity: SessionIdentity): Record<string, string> {
  const { tenant, ...parts } = identity;
  return { tenantId: tenant, ...parts };
}

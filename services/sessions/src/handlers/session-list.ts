import type { Handler } from '@switchyard/bus';
import type { Collection, Store } from '@switchyard/store';
import type { SessionDocument } from '../data.ts';
import { seenBy } from '../sessions/ownership.ts';

const MOST = 1_000;
const MINUTE_MS = 60_000;

/** The sessions that the caller may know of, newest first; at most a thousand, `total` says how many there are. */
export function sessionList(sessions: Collection<SessionDocument>, store: Store): Handler<'session.list'> {
  return async ({ kind, since_minutes }, ctx) => {
    const mine = sessions.for(ctx.principal);
    const filter = {
      ...seenBy(ctx.principal),
      ...(kind === 'all' ? {} : { kind }),
      ...(since_minutes === undefined ? {} : { updatedAt: { gte: store.now() - since_minutes * MINUTE_MS } }),
    };
    const [{ items }, total] = await Promise.all([mine.find(filter, { sort: [['updatedAt', 'desc']], limit: MOST }), mine.count(filter)]);
    return { sessions: items.map(summary), total };
  };
}

function summary(session: SessionDocument) {
  return {
    sessionKey: session.key,
    agentId: session.agentId,
    messageCount: session.messageCount,
    updatedAt: session.updatedAt,
    metadata: session.metadata,
    createdAt: session.createdAt,
    kind: session.kind,
    userId: session.userId,
    channelId: session.channelId,
    totalTokens: session.inputTokens + session.outputTokens,
  };
}

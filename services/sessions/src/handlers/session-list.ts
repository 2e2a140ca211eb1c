import type { Handler } from '@switchyard/bus';
import type { Collection, Store } from '@switchyard/store';
import type { SessionDocument } from '../data.ts';
import { kindOf } from '../sessions/directory.ts';

const MOST = 1_000;
const MINUTE_MS = 60_000;

/** The tenant's sessions, newest first; at most a thousand, `total` says how many there are. */
export function sessionList(sessions: Collection<SessionDocument>, store: Store): Handler<'session.list'> {
  return async ({ kind, since_minutes }, ctx) => {
    const mine = sessions.for(ctx.principal);
    const filter = since_minutes === undefined ? {} : { updatedAt: { gte: store.now() - since_minutes * MINUTE_MS } };
    const { items } = await mine.find(filter, { sort: [['updatedAt', 'desc']], limit: MOST });
    const shown = items.filter((session) => kind === 'all' || kindOf(session) === kind);
    const total = kind === 'all' ? await mine.count(filter) : shown.length;
    return { sessions: shown.map(summary), total };
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
    kind: kindOf(session),
    userId: session.userId,
    channelId: session.channelId,
    totalTokens: session.inputTokens + session.outputTokens,
  };
}

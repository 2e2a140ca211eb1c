import type { Handler } from '@switchyard/bus';
import type { Store } from '@switchyard/store';
import { type SessionDocument, labelField } from '../../model/session-document.ts';
import { visibilityFilter } from '../../model/session-ownership.ts';
import { waitUntilAllSettled, type SettlingDeps } from '../../sessions/session-settling.ts';

const MINUTE_MS = 60_000;

/** Returns a page of the sessions visible to the caller, newest first. `total` counts all pages. */
export function sessionList({ store, ...settling }: SettlingDeps & { store: Pick<Store, 'now'> }): Handler<'session.list'> {
  return async ({ kind, since_minutes, label, limit, cursor }, ctx) => {
    const { tenant } = ctx.principal;
    const mine = settling.sessions.for(ctx.principal);
    const filter = {
      ...visibilityFilter(ctx.principal),
      ...(kind === 'all' ? {} : { kind }),
      ...(label === undefined ? {} : { label }),
      ...(since_minutes === undefined ? {} : { updatedAt: { gte: store.now() - since_minutes * MINUTE_MS } }),
    };
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const newest = () => mine.find(filter, { sort: [['updatedAt', 'desc']], ...page });
    const [{ items, cursor: next }, total] = await Promise.all([waitUntilAllSettled(settling, tenant, newest), mine.count(filter)]);
    return { sessions: items.map(summary), total, ...(next === undefined ? {} : { cursor: next }) };
  };
}

function summary(session: SessionDocument) {
  return {
    sessionKey: session.key,
    agentId: session.agentId,
    ...labelField(session),
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

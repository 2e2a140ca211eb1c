import type { Handler } from '@switchyard/bus';
import { AgentId, type Result } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { DiagnosticDocument } from '../documents/collections.ts';
import { CATEGORY_NAMES } from '../ingest/read-diagnostic.ts';

export interface DiagnosticsDeps {
  diagnostics: Collection<DiagnosticDocument>;
  now: () => number;
}

type DiagnosticEvent = Result<'obs.diagnostics'>['events'][number];

/** Returns the newest events, and the number of all stored events by category. */
export function obsDiagnostics({ diagnostics, now }: DiagnosticsDeps): Handler<'obs.diagnostics'> {
  return async ({ category, limit, sinceMs }, { principal }) => {
    const documents = diagnostics.for(principal);
    const since = sinceMs === undefined ? {} : { at: { gte: Math.max(0, now() - sinceMs) } };
    const filter = { ...since, ...(category === undefined ? {} : { category }) };
    const { items } = await documents.find(filter, { sort: [['at', 'desc']], limit });
    const counts = await Promise.all(CATEGORY_NAMES.map(async (name) => [name, await documents.count({ category: name })] as const));
    return { events: items.map(toEvent), counts: Object.fromEntries(counts.filter(([, count]) => count > 0)) };
  };
}

function toEvent({ diagnosticId, category, eventType, at, agentId, channelId, sessionKey, data }: DiagnosticDocument): DiagnosticEvent {
  return {
    id: diagnosticId,
    category,
    eventType,
    timestamp: at,
    ...(AgentId.safeParse(agentId).success ? { agentId } : {}),
    ...(channelId === undefined ? {} : { channelId }),
    ...(sessionKey === undefined ? {} : { sessionKey }),
    data,
  };
}

import type { EventName } from '@switchyard/contracts';
import type { DiagnosticDocument } from '../documents/collections.ts';
import type { LogPlace } from './read-record.ts';

/** A summary replaced a part of a conversation. */
export const COMPACTED = 'context:dag_compacted';

/** The category of each event that is kept for diagnosis. Texts of conversations and tool calls are not among them. */
const CATEGORIES: ReadonlyMap<string, string> = new Map<EventName, string>([
  ['session:created', 'session'],
  ['session:expired', 'session'],
  ['execution:aborted', 'session'],
  [COMPACTED, 'context'],
  ['response:filtered', 'message'],
  ['provider:degraded', 'model_health'],
  ['provider:recovered', 'model_health'],
  ['model:fallback_attempt', 'model_health'],
  ['model:fallback_exhausted', 'model_health'],
  ['model:auth_cooldown', 'model_health'],
  ['system:error', 'health_signal'],
  ['security:warn', 'config_posture'],
  ['security:injection_detected', 'security'],
  ['security:injection_rate_exceeded', 'security'],
  ['config:patched', 'change'],
  ['agent:hot_added', 'change'],
  ['agent:hot_removed', 'change'],
  ['approval:resolved', 'approval'],
  ['scheduler:job_completed', 'scheduler'],
  ['graph:completed', 'graph'],
]);

/** Events of contracts that this version cannot read. */
export const UNREADABLE = 'unreadable';

/** All categories. */
export const CATEGORY_NAMES: readonly string[] = [...new Set([...CATEGORIES.values(), UNREADABLE])];

/** Reads a diagnostic event. Returns undefined for events that are not kept. */
export function readDiagnostic(name: string, payload: unknown, place: LogPlace): DiagnosticDocument | undefined {
  const category = CATEGORIES.get(name);
  return category === undefined ? undefined : toDiagnostic(category, name, payload, place);
}

/** Keeps an event as it came, for example one of a newer version. It is in no sum. */
export function keepUnreadable(name: string, payload: unknown, place: LogPlace): DiagnosticDocument {
  return toDiagnostic(UNREADABLE, name, payload, place);
}

function toDiagnostic(category: string, eventType: string, payload: unknown, { log, seq, at, expiresAt }: LogPlace): DiagnosticDocument {
  const data =
    typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? (payload as Record<string, unknown>) : { payload };
  const text = (field: string): string | undefined => (typeof data[field] === 'string' ? data[field] : undefined);
  const [agentId, channelId, sessionKey] = [text('agentId'), text('channelId'), text('sessionKey')];
  return {
    diagnosticId: `${log}-${seq}`,
    at,
    expiresAt,
    category,
    eventType,
    ...(agentId === undefined ? {} : { agentId }),
    ...(channelId === undefined ? {} : { channelId }),
    ...(sessionKey === undefined ? {} : { sessionKey }),
    data,
  };
}

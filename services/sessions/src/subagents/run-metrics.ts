import type { EventPayload } from '@switchyard/contracts';
import { counter, histogram } from '@switchyard/telemetry';
import type { RunDocument } from './run-document.ts';

/** Records the end of a run and the time since it was requested. */
export function recordRunEnd({ endReason = 'failed', createdAt, finishedAt = createdAt }: RunDocument): void {
  histogram('switchyard.subagent.duration', { outcome: endReason }).record(Math.max(0, finishedAt - createdAt) / 1_000);
}

export function recordRejection({ reason }: Pick<EventPayload<'session:sub_agent_spawn_rejected'>, 'reason'>): void {
  counter('switchyard.subagent.rejected', { reason }).add(1);
}

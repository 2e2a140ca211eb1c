import { histogram } from '@switchyard/telemetry';
import type { RunState } from '../engine/run-state.ts';

/** Records the outcome of a run and its duration. */
export function recordRunEnd({ status, cancelReason, startedAt, completedAt = startedAt }: RunState): void {
  histogram('switchyard.graph.duration', { outcome: status, reason: cancelReason ?? '' }).record(
    Math.max(0, completedAt - startedAt) / 1_000,
  );
}

/** Records how long a step waited before its turn was ordered. */
export function recordStepWait(ms: number): void {
  histogram('switchyard.graph.step.wait', {}).record(Math.max(0, ms) / 1_000);
}

import { histogram } from '@switchyard/telemetry';
import type { ApprovalDocument } from './approval-document.ts';
import { getParkKind } from './turn-parked.ts';

/** Records how a request ended and how long it waited. */
export function recordVerdict({ requestId, origin, verdict = 'expired', createdAt, decidedAt = createdAt }: ApprovalDocument): void {
  const kind = origin === undefined ? getParkKind(requestId) : 'order';
  histogram('switchyard.approval.wait', { kind, outcome: verdict }).record(Math.max(0, decidedAt - createdAt) / 1_000);
}

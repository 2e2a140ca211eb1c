import type { z } from 'zod';
import type { ApprovalRequest, ApprovalResolution } from '@switchyard/contracts';
import type { ApprovalDocument } from './approval-document.ts';

/** Returns the public form of a request. */
export function toRequest(request: ApprovalDocument): z.infer<typeof ApprovalRequest> {
  const { requestId, toolName, action, params, agentId, sessionKey, trustLevel, createdAt, timeoutMs, tainted } = request;
  const shown = { requestId, toolName, action, params, agentId, sessionKey, trustLevel, createdAt, timeoutMs };
  return { ...shown, ...(tainted && { tainted }) };
}

/** Returns the public form of a verdict. */
export function toResolution({
  requestId,
  verdict,
  decidedBy = 'system:timeout',
  reason,
  decidedAt = 0,
}: Pick<ApprovalDocument, 'requestId' | 'verdict' | 'decidedBy' | 'reason' | 'decidedAt'>): z.infer<typeof ApprovalResolution> {
  return {
    requestId,
    approved: verdict === 'approved',
    approvedBy: decidedBy,
    ...(reason === undefined ? {} : { reason }),
    resolvedAt: decidedAt,
  };
}

import type { Handler } from '@switchyard/bus';
import { MAX } from '@switchyard/contracts';
import { toRequest } from '../../approvals/approval-views.ts';
import type { ApprovalDocument } from '../../approvals/approval-document.ts';
import { isAlreadyResolved, type Approvals } from '../../approvals/approvals.ts';

/** Decided by a client of the RPC interface. */
const OPERATOR = 'operator';

export function approvalPending(approvals: Approvals): Handler<'admin.approval.pending'> {
  return async (_params, { principal }) => {
    const pending = await approvals.listPending(principal.tenant);
    return { requests: pending.slice(0, MAX.all).map(toRequest), total: pending.length };
  };
}

export function approvalResolve(approvals: Approvals): Handler<'admin.approval.resolve'> {
  return async ({ id, approved, reason }, { principal }) =>
    toReply(await approvals.resolve(principal.tenant, id, { approved, reason, approvedBy: OPERATOR }));
}

/** Resolves the requests that are pending now. A request that another answer decides meanwhile is left out. */
export function approvalResolveAll(approvals: Approvals): Handler<'admin.approval.resolveAll'> {
  return async ({ approved, sessionKey, approvedBy, reason }, { principal }) => {
    const requestIds: string[] = [];
    for (const { requestId } of await approvals.listPending(principal.tenant, sessionKey)) {
      try {
        await approvals.resolve(principal.tenant, requestId, { approved, reason, approvedBy });
        requestIds.push(requestId);
      } catch (error) {
        if (!isAlreadyResolved(error)) throw error;
      }
    }
    return { resolved: requestIds.length, requestIds: requestIds.slice(0, MAX.all) };
  };
}

export function approvalClearDenialCache(approvals: Approvals): Handler<'admin.approval.clearDenialCache'> {
  return async (_params, { principal }) => {
    await approvals.clearDenials(principal.tenant);
    return { cleared: true };
  };
}

function toReply({ requestId, verdict, decidedBy = OPERATOR, reason }: ApprovalDocument) {
  return { requestId, approved: verdict === 'approved', approvedBy: decidedBy, reason: reason ?? null };
}

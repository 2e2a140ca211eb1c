import type { Handler } from '@switchyard/bus';
import { orderApproval, readVerdicts, withdrawApprovals } from '../../approvals/approval-orders.ts';
import type { Approvals } from '../../approvals/approvals.ts';
import { resolveSessionTarget, type SessionTargetDeps } from '../../turns/acceptance/session-target.ts';

/** Requests the approval that another service needs, in the session that the channel names. */
export function approvalsOrder(approvals: Approvals, deps: Pick<SessionTargetDeps, 'agents'>): Handler<'approvals.order'> {
  return async (order, { principal }) => {
    const request = { agentId: order.agentId, session: { channelId: order.channelId } };
    const { named, standard, key } = resolveSessionTarget({ ...deps, bindings: () => undefined }, request, principal);
    return orderApproval(approvals, principal, order, { agentId: named ?? standard, sessionKey: key });
  };
}

export function approvalsVerdicts(approvals: Approvals): Handler<'approvals.verdicts'> {
  return ({ requestIds }, { principal }) => readVerdicts(approvals, principal, requestIds);
}

export function approvalsWithdraw(approvals: Approvals): Handler<'approvals.withdraw'> {
  return async (request, { principal }) => ({ withdrawn: await withdrawApprovals(approvals, principal, request) });
}

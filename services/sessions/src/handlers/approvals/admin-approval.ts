import type { Handler } from '@switchyard/bus';
import { MAX, ServiceError, type Principal } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { canSee } from '../../model/session-ownership.ts';
import type { SessionDocument } from '../../model/session-document.ts';
import { toRequest } from '../../approvals/approval-views.ts';
import { isQuestion, type Answer, type ApprovalDocument } from '../../approvals/approval-document.ts';
import { isAlreadyResolved, type Approvals } from '../../approvals/approvals.ts';

/** Decided by a client of the RPC interface. */
const OPERATOR = 'operator';

export interface ApprovalHandlerDeps {
  approvals: Approvals;
  sessions: Collection<SessionDocument>;
}

export function approvalPending(deps: ApprovalHandlerDeps): Handler<'admin.approval.pending'> {
  return async (_params, { principal }) => {
    const pending = await listVisible(deps, principal);
    return { requests: pending.slice(0, MAX.all).map(toRequest), total: pending.length };
  };
}

export function approvalResolve(deps: ApprovalHandlerDeps): Handler<'admin.approval.resolve'> {
  return async ({ id, approved, reason, answer }, { principal }) => {
    requireFittingAnswer(id, { approved, answer });
    if (isRestricted(principal)) await requireVisible(deps, principal, id);
    return toReply(await deps.approvals.resolve(principal.tenant, id, { approved, reason, answer, approvedBy: OPERATOR }));
  };
}

/** Resolves the requests that are pending now. A request that another answer decides meanwhile is left out. */
export function approvalResolveAll(deps: ApprovalHandlerDeps): Handler<'admin.approval.resolveAll'> {
  return async ({ approved, sessionKey, approvedBy, reason }, { principal }) => {
    const requestIds: string[] = [];
    const calls = (await listVisible(deps, principal, sessionKey)).filter((request) => !isQuestion(request));
    for (const { requestId } of calls) {
      try {
        await deps.approvals.resolve(principal.tenant, requestId, { approved, reason, approvedBy });
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

/** A question is answered in words, and a call is approved without any. */
function requireFittingAnswer(requestId: string, { approved, answer }: Pick<Answer, 'approved' | 'answer'>): void {
  if (isQuestion({ requestId }) ? !approved || answer !== undefined : answer === undefined) return;
  const expected = isQuestion({ requestId })
    ? `Request ${requestId} is a question. Send "answer", or "approved": false to decline it.`
    : `Request ${requestId} is no question. Send it without "answer".`;
  throw new ServiceError('INVALID_ARGUMENT', expected, { details: { reason: 'ANSWER_MISMATCH', field: 'answer' } });
}

function isRestricted({ sessions, agents }: Principal): boolean {
  return sessions === 'own' || agents !== undefined;
}

/** Returns the pending requests of the sessions that the principal may see. */
async function listVisible(
  { approvals, sessions }: ApprovalHandlerDeps,
  principal: Principal,
  sessionKey?: string,
): Promise<ApprovalDocument[]> {
  const pending = await approvals.listPending(principal.tenant, sessionKey);
  if (!isRestricted(principal)) return pending;
  const visible = new Map<string, boolean>();
  for (const key of new Set(pending.map((request) => request.sessionKey))) {
    const session = await sessions.for(principal).get(key);
    visible.set(key, session !== null && canSee(principal, session));
  }
  return pending.filter((request) => visible.get(request.sessionKey) === true);
}

/** Throws NOT_FOUND for a request of a session that the principal may not see, as for a missing request. */
async function requireVisible({ approvals, sessions }: ApprovalHandlerDeps, principal: Principal, id: string): Promise<void> {
  const request = await approvals.find(principal.tenant, id);
  const session = request && (await sessions.for(principal).get(request.sessionKey));
  if (!session || !canSee(principal, session)) throw new ServiceError('NOT_FOUND', `Approval request ${id} was not found.`);
}

function toReply({ requestId, verdict, decidedBy = OPERATOR, reason }: ApprovalDocument) {
  return { requestId, approved: verdict === 'approved', approvedBy: decidedBy, reason: reason ?? null };
}

import type { Bus } from '@switchyard/bus';
import type { ApprovalRecord, Input, Principal } from '@switchyard/contracts';
import { deriveId } from '@switchyard/security';
import { getTrustLevel } from './approval-gate.ts';
import type { ApprovalDocument } from './approval-document.ts';
import { isAlreadyResolved, type Approvals } from './approvals.ts';

/** Characters of a question that are shown with a request. */
const MAX_SHOWN_CHARS = 8_192;

interface Session {
  agentId: string;
  sessionKey: string;
}

/** Requests the approval that another service ordered. The same key of a client returns the same request, also after the verdict. */
export async function orderApproval(
  approvals: Approvals,
  { tenant, client, ...rest }: Principal,
  { idempotencyKey, origin, action, message, timeoutMs }: Input<'approvals.order'>,
  session: Session,
): Promise<ApprovalRecord> {
  const requestId = deriveId('appr', tenant, client, origin.service, idempotencyKey);
  const existing = await approvals.find(tenant, requestId);
  if (existing) return toRecord(existing);
  const params = { message: message.length <= MAX_SHOWN_CHARS ? message : message.slice(0, MAX_SHOWN_CHARS).toWellFormed() };
  const request = { requestId, toolName: action, action, params, ...session, client, origin, timeoutMs };
  // The verdict applies to this request alone, so that its id is the key of coalescing.
  return toRecord(await approvals.request(tenant, { ...request, trustLevel: getTrustLevel(rest), actionKey: requestId }));
}

/** Returns how the requests of a client stand. Requests of tool calls and of other clients are missing. */
export async function readVerdicts(
  approvals: Pick<Approvals, 'find'>,
  { tenant, client }: Principal,
  requestIds: readonly string[],
): Promise<{ requests: ApprovalRecord[]; missing: string[] }> {
  const found = await Promise.all(requestIds.map((requestId) => approvals.find(tenant, requestId)));
  const own = found.flatMap((request) => (request?.origin && request.client === client ? [toRecord(request)] : []));
  const known = new Set(own.map(({ requestId }) => requestId));
  return { requests: own, missing: requestIds.filter((requestId) => !known.has(requestId)) };
}

/** Denies the pending requests of a client, and returns how many there were. */
export async function withdrawApprovals(
  approvals: Approvals,
  principal: Principal,
  { requestIds, reason }: Input<'approvals.withdraw'>,
): Promise<number> {
  const { requests } = await readVerdicts(approvals, principal, requestIds);
  let withdrawn = 0;
  for (const { requestId, state } of requests) {
    if (state !== 'pending') continue;
    try {
      await approvals.resolve(principal.tenant, requestId, { approved: false, approvedBy: 'system:withdrawn', reason });
      withdrawn += 1;
    } catch (error) {
      if (!isAlreadyResolved(error)) throw error;
    }
  }
  return withdrawn;
}

/** Wakes the service that ordered the request, or the session whose turn waits for it. A lost wake-up only delays the service. */
export function createRequesterWake(
  bus: Pick<Bus, 'wake'>,
  wakeSession: (tenant: string, request: ApprovalDocument) => Promise<boolean>,
): (tenant: string, request: ApprovalDocument) => Promise<boolean> {
  return async (tenant, request) => {
    if (!request.origin) return wakeSession(tenant, request);
    bus.wake(request.origin.service);
    return true;
  };
}

function toRecord({ requestId, verdict, decidedBy, reason, decidedAt }: ApprovalDocument): ApprovalRecord {
  return {
    requestId,
    state: verdict ?? 'pending',
    ...(decidedBy === undefined ? {} : { decidedBy }),
    ...(reason === undefined ? {} : { reason }),
    ...(decidedAt === undefined ? {} : { decidedAt }),
  };
}

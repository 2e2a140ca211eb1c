import { z } from 'zod';
import { ORDERING_SERVICES, type OperationSpecs } from '../definition/define.ts';
import { AgentId, Count, IdempotencyKey, Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { TurnOrigin } from './turn-orders.ts';

const RequestId = boundedString(MAX.id);

/** Longest wait for a person: one day. */
const MAX_TIMEOUT_MS = 86_400_000;

/** How a request for approval stands. `expired` is a denial by timeout. */
export const ApprovalState = z.enum(['pending', 'approved', 'denied', 'expired']);

export const ApprovalRecord = z.object({
  requestId: RequestId,
  state: ApprovalState,
  decidedBy: boundedString(MAX.name).optional(),
  reason: boundedString(MAX.line).optional(),
  decidedAt: Timestamp.optional(),
});
export type ApprovalRecord = z.infer<typeof ApprovalRecord>;

/** Approvals that other services order. They are answered like those of tool calls. */
export const approvalOrderOperations = {
  'approvals.order': {
    summary: 'Requests the approval of a person for another service. The same key returns the same request.',
    callers: ORDERING_SERVICES,
    blobs: ['message'],
    params: z.strictObject({
      idempotencyKey: IdempotencyKey,
      origin: TurnOrigin.describe('the service is woken when the request is decided'),
      action: boundedString(MAX.name).describe('what is approved, for example graph.gate'),
      message: z.string().min(1).max(MAX.text).describe('question to the person'),
      agentId: AgentId.optional().describe('default: the default agent'),
      channelId: boundedString(MAX.name).describe('channel of the sessions in which chats may answer, such as telegram:678'),
      timeoutMs: z.int().positive().max(MAX_TIMEOUT_MS),
    }),
    result: ApprovalRecord,
    emits: ['approval:requested'],
    idempotent: true,
  },
  'approvals.verdicts': {
    summary: 'Returns how requests of the caller stand.',
    callers: ORDERING_SERVICES,
    params: z.strictObject({ requestIds: z.array(RequestId).min(1).max(MAX.few) }),
    result: z.object({
      requests: z.array(ApprovalRecord).max(MAX.few),
      missing: z.array(RequestId).max(MAX.few).describe('requests that do not exist, or belong to another client'),
    }),
    blobs: ['requestIds', 'requests', 'missing'],
    idempotent: true,
    reads: true,
  },
  'approvals.withdraw': {
    summary: 'Denies pending requests that the caller no longer needs.',
    callers: ORDERING_SERVICES,
    params: z.strictObject({ requestIds: z.array(RequestId).min(1).max(MAX.few), reason: boundedString(MAX.line) }),
    result: z.object({ withdrawn: Count }),
    blobs: ['requestIds'],
    emits: ['approval:resolved'],
    idempotent: true,
  },
} satisfies OperationSpecs;

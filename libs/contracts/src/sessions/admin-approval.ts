import { z } from 'zod';
import { AgentId, Count, DurationMs, JsonObject, NoParams, SessionKey, Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** An agent's tool call that waits for a person: for an approval, or with the action `ask_user` for an answer. */
export const ApprovalRequest = z.object({
  requestId: boundedString(MAX.id),
  toolName: boundedString(MAX.name),
  action: boundedString(MAX.line),
  params: JsonObject,
  agentId: AgentId,
  sessionKey: SessionKey,
  trustLevel: z.enum(['admin', 'user', 'guest']),
  createdAt: Timestamp,
  timeoutMs: DurationMs,
  channelType: boundedString(MAX.name).optional(),
  tainted: z.literal(true).optional().describe('the turn has read text from outside, which may have caused the call'),
});

/** How a request ended; `approvedBy` names the decider also when the answer was no. */
export const ApprovalResolution = z.object({
  requestId: boundedString(MAX.id),
  approved: z.boolean(),
  approvedBy: boundedString(MAX.name).describe('operator, chat:<senderId>, system:timeout, system:cached-approval, …'),
  reason: boundedString(MAX.line).optional(),
  resolvedAt: Timestamp,
});

export const PendingApprovals = z.object({ requests: z.array(ApprovalRequest).max(MAX.all), total: Count });

export const ApprovalResolved = z.object({
  requestId: boundedString(MAX.id),
  approved: z.boolean(),
  approvedBy: boundedString(MAX.name),
  reason: boundedString(MAX.line).nullable(),
});

export const approvalExample = {
  requestId: 'appr_4fT0mUq2Zs8KxY1bNcVdGh',
  toolName: 'cron_remove',
  action: 'cron.remove',
  params: { name: 'nightly-report' },
  agentId: 'default',
  sessionKey: 'default:alice:gateway',
  trustLevel: 'user',
  createdAt: 1763719200000,
  timeoutMs: 300000,
};

const Approved = z.boolean().describe('true approves, false denies');
const Reason = z.string().max(2000).optional();
/** Longest answer to a question. Longer messages are truncated. */
export const MAX_ANSWER_CHARS = 20_000;
const Answer = z.string().min(1).max(MAX_ANSWER_CHARS).optional();

export const adminApprovalMethods = defineMethods({
  'admin.approval.clearDenialCache': {
    summary: 'Clears remembered denials, so that the same action requests approval again.',
    scope: 'admin',
    audited: 'mutate',
    params: NoParams,
    result: z.object({ cleared: z.literal(true) }),
    idempotent: true,
    examples: [{ params: {}, result: { cleared: true } }],
  },
  'admin.approval.pending': {
    summary: 'Lists the tool calls that wait for a person, oldest first: for a decision, or with the action ask_user for an answer.',
    scope: 'admin',
    params: NoParams,
    result: PendingApprovals,
    blobs: ['requests'],
    idempotent: true,
    examples: [{ params: {}, result: { requests: [approvalExample], total: 1 } }],
  },
  'admin.approval.resolve': {
    summary: 'Approves or denies one waiting tool call, or answers one question of an agent.',
    scope: 'admin',
    params: z.strictObject({
      id: z.string().min(1).max(MAX.id),
      approved: Approved,
      reason: Reason,
      answer: Answer.describe('required to answer a question (action ask_user); false declines the question'),
    }),
    result: ApprovalResolved,
    blobs: ['answer'],
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'INVALID_ARGUMENT'],
    emits: ['approval:resolved', 'audit:event'],
    examples: [
      {
        params: { id: 'appr_4fT0mUq2Zs8KxY1bNcVdGh', approved: true },
        result: { requestId: 'appr_4fT0mUq2Zs8KxY1bNcVdGh', approved: true, approvedBy: 'operator', reason: null },
      },
    ],
  },
  'admin.approval.resolveAll': {
    summary: 'Approves or denies every waiting tool call, of one session or of all. Questions of agents are left out.',
    scope: 'admin',
    params: z.strictObject({
      approved: Approved,
      sessionKey: SessionKey.optional(),
      approvedBy: z.string().min(1).max(128).default('operator'),
      reason: Reason,
    }),
    result: z.object({ resolved: Count, requestIds: z.array(boundedString(MAX.id)).max(MAX.all) }),
    blobs: ['requestIds'],
    emits: ['approval:resolved', 'audit:event'],
    examples: [
      {
        params: { approved: false, sessionKey: 'default:alice:gateway', reason: 'maintenance' },
        result: { resolved: 1, requestIds: ['appr_4fT0mUq2Zs8KxY1bNcVdGh'] },
      },
    ],
  },
});

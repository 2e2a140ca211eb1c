import { z } from 'zod';
import { AgentId, TurnOrigin, type Input } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { workFields, workIndex } from '@switchyard/work';
import { getParkKind } from './turn-parked.ts';
import { count, instant } from '../model/schema-fields.ts';

/** A decided request is kept this long. */
const DECIDED_TTL_MS = 604_800_000;

/** How a request was decided. `expired` is a denial by timeout, which is never cached. */
const Verdict = z.enum(['approved', 'denied', 'expired']);

/**
 * One request for approval. As work it is parked until a person decides or its timeout passes; then it wakes the session whose turn waits
 * for it. The first verdict is final.
 */
export const ApprovalDocument = z.object({
  ...workFields,
  requestId: z.string(),
  toolName: z.string(),
  /** Name of the method or operation, as rules match it. */
  action: z.string(),
  /** Arguments for display. The turn executes its stored call, whose digest `actionKey` contains. */
  params: json(z.record(z.string(), z.unknown())),
  agentId: AgentId,
  sessionKey: z.string(),
  trustLevel: z.enum(['admin', 'user', 'guest']),
  /** Digest of session, epoch, agent, action and arguments. An approval applies to no other call. */
  actionKey: z.string(),
  /** `actionKey` while the request is pending, so that identical requests share one document. */
  pendingKey: z.string().optional(),
  /** Turn that created the request. */
  turnId: z.string().optional(),
  /** Service that ordered the request, instead of a turn. */
  origin: json(TurnOrigin).optional(),
  /** Client for which a service ordered the request. */
  client: z.string().optional(),
  /** The turn had read text from outside before the call. */
  tainted: z.literal(true).optional(),
  createdAt: instant,
  timeoutMs: count,
  verdict: Verdict.optional(),
  decidedBy: z.string().optional(),
  reason: z.string().optional(),
  /** Answer of a person to a question of `ask_user`. */
  answer: z.string().optional(),
  decidedAt: instant.optional(),
  /** The verdict answers identical calls until then. */
  cachedUntil: instant.optional(),
});
export type ApprovalDocument = z.infer<typeof ApprovalDocument>;

export const approvalCollection = collection({
  name: 'approvals',
  schema: ApprovalDocument,
  key: 'requestId',
  indexes: [
    workIndex,
    { fields: ['pendingKey', 'createdAt'], sparse: true },
    { fields: ['actionKey', 'cachedUntil'] },
    { fields: ['verdict', 'cachedUntil'], sparse: true },
  ],
  unique: [['pendingKey']],
  expires: { field: 'decidedAt', afterMs: DECIDED_TTL_MS },
});

/** A person's answer. */
export type Answer = Pick<Input<'admin.approval.resolve'>, 'approved' | 'reason' | 'answer'> & { approvedBy: string };

/** Returns whether a request is a question, which is answered in words and approves nothing. */
export function isQuestion({ requestId }: Pick<ApprovalDocument, 'requestId'>): boolean {
  return getParkKind(requestId) === 'question';
}

import type { Bus } from '@switchyard/bus';
import { MAX, ServiceError, type ApprovalRecord } from '@switchyard/contracts';
import { toPrincipal } from '@switchyard/service-kit';
import type { StepDocument } from '../documents/collections.ts';
import type { StepQuestion } from '../documents/step-question.ts';
import type { StepResult } from './turn-step.ts';

/** Action under which rules and views name the requests of approval gates. */
const GATE_ACTION = 'graph.gate';

type QuestionStep = StepDocument & { question: StepQuestion };

/** Requests the approval of a step and returns how it stands. A repeated order returns the same request. */
export async function orderApproval(bus: Bus, tenant: string, { stepId, principal, question }: QuestionStep): Promise<ApprovalRecord> {
  const { channelType, channelId, ...rest } = question;
  return bus.as(toPrincipal(tenant, principal)).call('approvals.order', {
    ...rest,
    channelId: `${channelType}:${channelId}`,
    idempotencyKey: stepId,
    origin: { service: 'graph', ref: stepId },
    action: GATE_ACTION,
  });
}

interface AnnounceDeps {
  bus: Bus;
  log: { warn(fields: object, message: string): void };
}

/**
 * Announces a request in the chat of the graph. A request that no chat shows is still answered with `switchyard approvals`, so that a
 * failure is only logged.
 */
export async function announceApproval(
  { bus, log }: AnnounceDeps,
  tenant: string,
  { stepId, principal, question }: QuestionStep,
  requestId: string,
): Promise<void> {
  const { channelType, channelId, message, agentId = 'default' } = question;
  const id = requestId.slice('appr_'.length).slice(0, 8);
  const text = `${message}\n\nAnswer yes or no, or /approve ${id} or /deny ${id}.`.slice(0, MAX.text);
  try {
    const target = { channelType, channelId };
    await bus.as(toPrincipal(tenant, principal)).call('deliver.send', { agentId, target, text, idempotencyKey: stepId });
  } catch (err) {
    const isMissing = err instanceof ServiceError && err.details.reason === 'NO_RESPONDERS';
    const hint = isMissing ? 'the channels service is not installed' : 'answer the request with switchyard approvals';
    log.warn({ err, stepId, hint }, 'failed to announce an approval request');
  }
}

/** Reads how the request of a step stands; undefined for a request that no longer exists. */
export async function readApproval(
  bus: Bus,
  tenant: string,
  { principal }: StepDocument,
  requestId: string,
): Promise<ApprovalRecord | undefined> {
  const { requests } = await bus.as(toPrincipal(tenant, principal)).call('approvals.verdicts', { requestIds: [requestId] });
  return requests[0];
}

/** Denies the request of a step that is no longer needed. */
export async function withdrawApproval(
  bus: Bus,
  tenant: string,
  { principal }: Pick<StepDocument, 'principal'>,
  requestId: string,
): Promise<void> {
  const request = { requestIds: [requestId], reason: 'the graph no longer needs the approval' };
  await bus.as(toPrincipal(tenant, principal)).call('approvals.withdraw', request);
}

/** Translates a verdict into the end of its step; undefined while the request is pending. */
export function describeVerdict(record: ApprovalRecord | undefined): StepResult | undefined {
  if (!record) return { text: '', error: 'the request for approval no longer exists' };
  const { state, decidedBy = 'an operator', reason } = record;
  const because = reason === undefined ? '' : ` Reason: ${reason}`;
  if (state === 'pending') return undefined;
  if (state === 'approved') return { text: `Approved by ${decidedBy}.${because}` };
  if (state === 'expired') return { text: '', error: 'nobody approved in time' };
  return { text: '', error: `denied by ${decidedBy}.${because}`.slice(0, MAX.line) };
}

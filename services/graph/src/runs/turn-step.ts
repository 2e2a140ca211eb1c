import type { Bus } from '@switchyard/bus';
import { MAX, ServiceError, type TurnEndRecord } from '@switchyard/contracts';
import { toPrincipal } from '@switchyard/service-kit';
import type { StepDocument } from '../documents/collections.ts';
import type { StepOrder } from './step-order.ts';

export type StepResult = Pick<StepDocument, 'text' | 'error' | 'permanent' | 'spent'>;

/** Orders the turn of a step and returns its id. A repeated order returns the same turn. */
export async function orderTurn(bus: Bus, tenant: string, { stepId, runId, principal, order }: StepDocument): Promise<string> {
  const { threadId, ...request } = order as StepOrder;
  const { agentId } = request;
  const { turnId } = await bus.as(toPrincipal(tenant, principal)).call('turns.order', {
    ...request,
    session: { userId: `graph:${runId}`, threadId, ...(agentId === undefined ? {} : { agentId }) },
    idempotencyKey: stepId,
    kind: 'graph',
    origin: { service: 'graph', ref: stepId },
  });
  return turnId;
}

/** Waits for the end of the turn of a step, and returns it; undefined while the turn has not ended. */
export async function readTurn(
  bus: Bus,
  tenant: string,
  { principal }: Pick<StepDocument, 'principal'>,
  { turnId, waitMs = 0 }: { turnId: string; waitMs?: number },
): Promise<StepResult | undefined> {
  const { turns } = await bus.as(toPrincipal(tenant, principal)).call('turns.ends', { turnIds: [turnId], waitMs });
  const [turn] = turns;
  if (!turn) return { text: '', error: 'the turn of this step no longer exists', permanent: false };
  return turn.state === 'queued' || turn.state === 'running' ? undefined : describeTurnEnd(turn);
}

/**
 * Cancels the turn of a step; a turn that no longer exists is ignored. The key of the order finds a turn whose id was not stored, because
 * the replica died between the order and the write.
 */
export async function cancelTurn(bus: Bus, tenant: string, { principal, turnId, stepId }: StepDocument): Promise<void> {
  const params = turnId === undefined ? { idempotencyKey: stepId } : { turnId };
  try {
    await bus.as(toPrincipal(tenant, principal)).call('turns.cancel', params);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'NOT_FOUND')) throw error;
  }
}

/** Translates the end of a turn into the end of its step. */
function describeTurnEnd({ state, result, failure, usage }: TurnEndRecord): StepResult {
  const spent = usage && {
    tokens: usage.input + usage.output,
    costUsd: usage.costUsd,
    cacheRead: usage.cacheRead,
    cacheWrite: usage.cacheWrite,
  };
  const text = result?.response.slice(0, MAX.text) ?? '';
  if (state === 'done') return { text, ...(spent && { spent }) };
  const error = (failure?.message ?? `the turn was ${state}`).slice(0, MAX.line);
  // A precondition such as the existence of the agent is not met by a repetition either.
  return { text, error, permanent: failure?.code === 'FAILED_PRECONDITION', ...(spent && { spent }) };
}

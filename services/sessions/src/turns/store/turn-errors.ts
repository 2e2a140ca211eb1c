import { createServiceError, ServiceError, type FullFor } from '@switchyard/contracts';
import { getParkKind } from '../../approvals/turn-parked.ts';

/** Errors that end a turn from outside its model and tools. */
export function turnTimedOut(afterMs: number): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', `The turn exceeded its time limit of ${afterMs / 1_000} seconds.`, {
    details: { reason: 'TURN_TIMEOUT' },
  });
}

/** The turn was started the maximum number of times and every process died before its end. */
export function turnPoisoned(attempts: number): ServiceError {
  return new ServiceError('INTERNAL', `The turn was started ${attempts} times and its process stopped every time.`, {
    details: { reason: 'POISON', retryable: false },
  });
}

/** Cancelled by its client. A retry needs a new request. */
export function turnCancelled(): ServiceError {
  return new ServiceError('CANCELLED', 'The turn was cancelled.', { details: { reason: 'TURN_CANCELLED', retryable: false } });
}

/** Dropped for newer turns because the queue was full. */
export function turnDropped(policy: 'drop-old' | 'summarize'): ServiceError {
  const [reason, then] =
    policy === 'drop-old' ? ['TURN_DROPPED', 'it was dropped'] : ['TURN_SUMMARIZED', 'a later turn includes the beginning of its message'];
  return new ServiceError('RESOURCE_EXHAUSTED', `The queue of this session was full and this turn was the oldest: ${then}.`, {
    details: { reason, retryable: false },
  });
}

/** An auto-continued turn whose conversation has received a message or was reset meanwhile. */
export function turnOvertaken(): ServiceError {
  return new ServiceError('CANCELLED', 'The conversation has continued without this turn.', {
    details: { reason: 'OVERTAKEN', retryable: false },
  });
}

export function waitTimedOut(afterMs: number): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', `The turn waited longer than ${afterMs / 1_000} seconds for a free slot of its agent.`, {
    details: { reason: 'WAIT_TIMEOUT' },
  });
}

export function tenantQueueFull(maxWaiting: number, fullFor?: FullFor): ServiceError {
  return createServiceError('RESOURCE_EXHAUSTED', `The limit of ${maxWaiting} waiting turns of this tenant is reached. Retry later.`, {
    details: { reason: 'TENANT_QUEUE_FULL', retryAfterMs: 1_000, ...(fullFor && { fullFor }) },
  });
}

export function agentDeleted(agentId: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `Agent ${agentId} of this session was deleted.`, { details: { reason: 'AGENT_DELETED' } });
}

export function agentSuspended(agentId: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `Agent ${agentId} is suspended.`, { details: { reason: 'AGENT_SUSPENDED' } });
}

const PARKED = {
  approval: { reason: 'APPROVAL_PENDING', message: 'The turn waits for an approval. It continues when a person has decided.' },
  question: { reason: 'ANSWER_PENDING', message: 'The turn waits for an answer. It continues with the next message of this session.' },
  sleep: { reason: 'SLEEPING', message: 'The turn sleeps. It continues at the time that the agent has chosen.' },
} as const;

/** The caller stops waiting; the turn continues when a person has answered or its time has come. */
export function turnParked(turnId: string, requestId: string): ServiceError {
  const { reason, message } = PARKED[getParkKind(requestId)];
  return new ServiceError('DEADLINE_EXCEEDED', message, { details: { reason, turnId, retryable: false } });
}

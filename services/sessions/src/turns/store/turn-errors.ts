import { createServiceError, ServiceError, type FullFor } from '@switchyard/contracts';

/** Errors that end a turn from outside its model and tools. */
export function turnTimedOut(afterMs: number): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', `The turn took longer than ${afterMs / 1_000} seconds.`, {
    details: { reason: 'TURN_TIMEOUT' },
  });
}

/** The turn was started the maximum number of times and every process died before its end. */
export function turnPoisoned(attempts: number): ServiceError {
  return new ServiceError('INTERNAL', `The turn was begun ${attempts} times, and each time the process that ran it stopped.`, {
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
    policy === 'drop-old' ? ['TURN_DROPPED', 'it was left out'] : ['TURN_SUMMARIZED', 'a later turn is told how its message begins'];
  return new ServiceError('RESOURCE_EXHAUSTED', `Too many turns waited in this session, and this one for the longest: ${then}.`, {
    details: { reason, retryable: false },
  });
}

/** An auto-continued turn whose conversation has received a message or was reset meanwhile. */
export function turnOvertaken(): ServiceError {
  return new ServiceError('CANCELLED', 'The conversation has gone on without it.', { details: { reason: 'OVERTAKEN', retryable: false } });
}

export function waitTimedOut(afterMs: number): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', `The turn waited longer than ${afterMs / 1_000} seconds for its agent.`, {
    details: { reason: 'WAIT_TIMEOUT' },
  });
}

export function tenantQueueFull(maxWaiting: number, fullFor?: FullFor): ServiceError {
  return createServiceError('RESOURCE_EXHAUSTED', `${maxWaiting} turns of this tenant are waiting; try again in a moment.`, {
    details: { reason: 'TENANT_QUEUE_FULL', retryAfterMs: 1_000, ...(fullFor && { fullFor }) },
  });
}

export function agentDeleted(agentId: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The agent ${agentId} of this session is gone.`, { details: { reason: 'AGENT_DELETED' } });
}

export function agentSuspended(agentId: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The agent ${agentId} is suspended.`, { details: { reason: 'AGENT_SUSPENDED' } });
}

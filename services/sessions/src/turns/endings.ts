import { ServiceError } from '@switchyard/contracts';

/** The typed failures that end a turn from outside of its model and tools. */
export function timedOut(afterMs: number): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', `The turn took longer than ${afterMs / 1_000} seconds.`, {
    details: { reason: 'TURN_TIMEOUT' },
  });
}

/** Its tools may have acted. */
export function interrupted(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The process that ran this turn stopped before it was done.', {
    details: { reason: 'INTERRUPTED', retryable: false },
  });
}

export function agentGone(agentId: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The agent ${agentId} of this session is gone.`, { details: { reason: 'AGENT_DELETED' } });
}

export function agentSuspended(agentId: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The agent ${agentId} is suspended.`, { details: { reason: 'AGENT_SUSPENDED' } });
}

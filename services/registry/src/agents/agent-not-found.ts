import { ServiceError } from '@switchyard/contracts';

export function agentNotFound(agentId: string): ServiceError {
  return new ServiceError('NOT_FOUND', `The agent ${agentId} does not exist.`, { details: { reason: 'AGENT_NOT_FOUND', agentId } });
}

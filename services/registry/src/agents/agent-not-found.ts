import { ServiceError } from '@switchyard/contracts';

export function noAgent(agentId: string): ServiceError {
  return new ServiceError('NOT_FOUND', `no agent ${agentId}`, { details: { reason: 'AGENT_NOT_FOUND', agentId } });
}

export type * from './model.ts';
export { createModels, type ModelsOptions } from './create-models.ts';
export { createFailover } from './failover/create-failover.ts';
export { CIRCUIT_OPEN } from './failover/faults.ts';
export type { Answered, Asker, Failover, FailoverDeps } from './failover/policy.ts';
export { AGENT_OPERATIONS, operationModel, type AgentOperation, type OperationModel } from './operation-models.ts';
export { resolveAgentModel } from './agent-model.ts';
export { toolCall } from './tool-call.ts';
export { findVisible, visibleNames, type VisibleName } from './visible.ts';

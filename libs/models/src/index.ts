export type * from './model.ts';
export { createModels, type ModelsOptions } from './create-models.ts';
export { resolveAgentModel } from './agent-model.ts';
export { toolCall } from './tool-call.ts';
export { findVisible, visibleNames, type VisibleName } from './visible.ts';

/** Events that a model call causes. */
export const MODEL_EVENTS = [
  'observability:token_usage',
  'usage:recorded',
  'model:fallback_attempt',
  'model:fallback_exhausted',
  'model:auth_cooldown',
  'provider:degraded',
  'provider:recovered',
] as const;

/** Events that a turn causes; tools declare their own. */
export const TURN_EVENTS = [
  'message:received',
  'message:streaming',
  'message:sent',
  'response:filtered',
  'execution:aborted',
  'turn:ended',
  'context:dag_compacted',
  'session:created',
  'session:expired',
  'approval:requested',
  'approval:resolved',
  'security:injection_detected',
  'security:injection_rate_exceeded',
  'memory:reranked',
  'security:warn',
  'audit:event',
  ...MODEL_EVENTS,
] as const;

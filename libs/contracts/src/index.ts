export * from './definition/define.ts';
export * from './definition/errors.ts';
export * from './values/principal.ts';
export * from './values/blob-ref.ts';
export { maxKeys } from './values/max-keys.ts';
export { UNSAFE_KEYS } from './values/safe-keys.ts';
export { MAX } from './values/sizes.ts';
export * from './definition/subjects.ts';
export { isOauthTokenName, oauthTokenName } from './values/oauth-token.ts';
export * from './definition/tool-groups.ts';
export * from './definition/validation.ts';
export { LogModule } from './definition/log-module.ts';
export * from './catalog/projections.ts';
export * from './catalog/contracts.ts';
export {
  AgentId,
  CallerId,
  FinishReason,
  LIMIT_FINISH_REASONS,
  AllowedAgents,
  IDEMPOTENCY_KEY,
  IdempotencyKey,
  Scope,
  SessionKey,
  SessionParts,
  SessionAccess,
  TokenId,
  TokensUsed,
} from './values/common.ts';
export * from './sessions/turn-orders.ts';
export * from './sessions/approval-orders.ts';
export * from './sessions/turn-usage.ts';
export * from './sessions/usage-event.ts';
export * from './sessions/turns.ts';
export type { AbortReason, FilteredReason } from './sessions/events.ts';
export { MAX_ANSWER_CHARS, type ApprovalRequest, type ApprovalResolution } from './sessions/admin-approval.ts';
export { RECORDING_SCHEMA, TurnRecording, type ReplayDifference } from './sessions/recordings.ts';
export { REDACTION_POLICY } from './observability/obs-replay.ts';
export {
  TurnEvidence,
  type ContextLayerEvidence,
  type Screened,
  type StepBudget,
  type StepEvidence,
  type ToolEvidence,
} from './sessions/evidence.ts';
export { SessionLabel } from './sessions/session-records.ts';
export type { ResponseState } from './sessions/responses.ts';
export type { CallerTool, CallerToolCall, CallerTools, JsonFormat } from './sessions/conversation.ts';
export { MessageImage, TurnMessage } from './sessions/conversation.ts';
export { OfferedTool, OfferedTools } from './tools/operations.ts';
export * from './config/sections.ts';
export { USUAL_CONTEXT_THRESHOLD } from './config/agent-context.ts';
export { AgentConfig, AgentPatch } from './config/agents.ts';
export { LogLevel, REDACTED, SecretRef } from './config/kinds.ts';
export { McpClient } from './config/mcp-client.ts';
export { SpendLimits } from './config/spend-limits.ts';
export { CapabilityClass, ProviderEntry } from './config/models.ts';
export { UNREAD_SETTINGS } from './config/unread-settings.ts';
export { isUnread, listUnusedSettings } from './catalog/unused-settings.ts';
export { isServed, listMethods, resolveOwner, remainingSettings, SETTING_OWNERS, type Owner } from './catalog/setting-owners.ts';
export { closest } from './definition/spelling-suggestion.ts';
export { mergeChange, type CopiedPart } from './config/merge-change.ts';
export { createPatchSchema, type DeepPartial } from './config/patch.ts';
export {
  covers,
  IMMUTABLE_PATHS,
  isImmutable,
  CONFIG_WRITE_METHODS,
  isOperatorOnly,
  MUTABLE_EXCEPTIONS,
  mutableAlternatives,
  OPERATOR_ONLY_PATHS,
  writtenPaths,
  INSTALLATION_SECRET_SETTINGS,
} from './config/immutable.ts';
export { CONFIG_WRITERS, type ConfigWriter, type ConfigWriterName } from './config/config-writers.ts';
export * from './catalog/notifications.ts';
export * from './catalog/unserved-methods.ts';
export {
  EndpointUse,
  isBuilt,
  isInstalled,
  listBuiltServices,
  GATEWAY_DEPENDENCIES,
  Replica,
  ReplicaReadiness,
  servicePresence,
  ServicePresence,
  type ServiceState,
} from './catalog/discovery.ts';
export {
  DISCOVER,
  buildOpenRpcDocument,
  buildOpenRpcInSteps,
  type ContentDescriptor,
  type OpenRpcDocument,
  type OpenRpcMethod,
} from './catalog/openrpc.ts';
export {
  createSnapshot,
  mergeLocks,
  findNarrowings,
  serializeLock,
  splitByService,
  findStaleEntries,
  type ContractsLock,
  type LockEntry,
} from './catalog/compatibility.ts';
export { inputSchema, outputSchema, type JsonSchema } from './definition/json-schema.ts';
export { DATA_DIRECTORY_FILE, parseRunFile, type RunFile, type RunningProcess } from './process/run-file.ts';
export { EMBEDDED_FLAGS, RESTART_CODE, SERVER_FLAGS } from './process/server-flags.ts';
export { gateway } from './gateway/contract.ts';
export { observability } from './observability/contract.ts';
export { registry } from './registry/contract.ts';
export { EmbeddingInput } from './registry/operations.ts';
export type { PriceSource } from './registry/models.ts';
export { secrets } from './secrets/contract.ts';
export { AuditHead, AuditRecord, type AuditAct, type AuditLook, type AuditOutcome } from './secrets/audit.ts';
export { SecretListItem } from './secrets/env.ts';
export { findPublishedOrigin, SecretPurpose } from './secrets/purposes.ts';
export { SEALING_KEY, SecretName, type SecretAsker } from './secrets/operations.ts';
export { StoredPrincipal, type TokenStanding } from './secrets/token-standing.ts';
export { sessions } from './sessions/contract.ts';
export { browser } from './browser/contract.ts';
export { channels } from './channels/contract.ts';
export { graph } from './graph/contract.ts';
export { media } from './media/contract.ts';
export { MEDIA_USAGE, MediaUsagePurpose } from './media/usage-event.ts';
export { memory } from './memory/contract.ts';
export { scheduler } from './scheduler/contract.ts';
export { tools } from './tools/contract.ts';
export { workspace } from './workspace/contract.ts';
export { MemoryEntry, MemoryType, TrustLevel } from './memory/entry.ts';
export { CronRun, CronSchedule, HOURS_PER_DAY, type CronJob } from './scheduler/cron.ts';
export {
  ExclusionWindow,
  JobDelivery,
  JobOptions,
  MissedRuns,
  OverlapPolicy,
  RunBudget,
  SessionStrategy,
  WEEKDAYS,
} from './scheduler/job-options.ts';
export { ExtractedTask, TaskFacts } from './scheduler/tasks.ts';
export { HeartbeatState } from './scheduler/heartbeat.ts';
export { GraphDefinition, GraphNode } from './graph/definition.ts';
export { expectedConfig, NodeType, nodeTypeConfigs } from './graph/node-types.ts';
export { buildGraphSchema } from './graph/graph-schema.ts';
export { GraphStatus, NodeStatus } from './graph/events.ts';
export { GraphWarning, NodeState } from './graph/results.ts';
export { ChannelCapabilities } from './channels/events.ts';
export { ChannelHealth } from './channels/channels.ts';
export { PlatformObject } from './channels/message.ts';
export { DiscordAction, SlackAction, TelegramAction, WhatsAppAction } from './channels/platforms.ts';
export { McpServer, McpState, McpTool, McpTransport } from './tools/mcp.ts';
export { Skill, SkillInstructions, SkillName } from './tools/skills.ts';

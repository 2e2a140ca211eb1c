export * from './define.ts';
export * from './errors.ts';
export * from './principal.ts';
export * from './blob-ref.ts';
export { mostKeys } from './most-keys.ts';
export { MAX } from './sizes.ts';
export * from './subjects.ts';
export { isOauthTokenName, oauthTokenName } from './oauth-token.ts';
export { toolName } from './tool-name.ts';
export * from './validation.ts';
export { LogModule } from './log-module.ts';
export * from './projections.ts';
export * from './registry.ts';
export {
  AgentId,
  CallerId,
  FinishReason,
  HeldToAgents,
  IDEMPOTENCY_KEY,
  IdempotencyKey,
  Scope,
  SessionKey,
  SessionParts,
  SessionsOf,
  TokenId,
  TokensUsed,
} from './common.ts';
export * from './sessions/turns.ts';
export type { AbortReason, FilteredReason } from './sessions/events.ts';
export { TurnEvidence, type Screened, type StepEvidence, type ToolEvidence } from './sessions/evidence.ts';
export { SessionLabel } from './sessions/session-records.ts';
export type { ResponseState } from './sessions/responses.ts';
export type { CallerTool, CallerToolCall, CallerTools, JsonFormat, TurnMessage } from './sessions/conversation.ts';
export * from './config/sections.ts';
export { USUAL_CONTEXT_THRESHOLD } from './config/agent-context.ts';
export { AgentConfig, AgentPatch } from './config/agents.ts';
export { LogLevel, REDACTED, SecretRef } from './config/kinds.ts';
export { McpClient } from './config/mcp-client.ts';
export { SpendLimits } from './config/spend-limits.ts';
export { CapabilityClass, ProviderEntry } from './config/models.ts';
export { UNREAD_SETTINGS } from './config/burn-down.ts';
export { isUnread, notInForce } from './config/not-in-force.ts';
export { isServed, methodsOf, ownerOf, remainingSettings, SETTING_OWNERS, type Owner } from './config/owners.ts';
export { patchOf, type DeepPartial } from './config/patch.ts';
export {
  IMMUTABLE_PATHS,
  isImmutable,
  METHODS_THAT_WRITE,
  isNeverByRpc,
  MUTABLE_EXCEPTIONS,
  mutableAlternatives,
  NEVER_BY_RPC,
  writtenPaths,
} from './config/immutable.ts';
export * from './notifications.ts';
export * from './burn-down.ts';
export {
  EndpointUse,
  isBuilt,
  NEEDED_AT_THE_EDGE,
  Replica,
  ReplicaReadiness,
  servicePresence,
  ServicePresence,
  type ServiceState,
} from './discovery.ts';
export { DISCOVER, openRpcDocument, openRpcSteps, type ContentDescriptor, type OpenRpcDocument, type OpenRpcMethod } from './openrpc.ts';
export {
  contractsLock,
  mergeLocks,
  narrowings,
  serializeLock,
  splitByService,
  staleLock,
  type ContractsLock,
  type LockEntry,
} from './compatibility.ts';
export { inputSchema, outputSchema, type JsonSchema } from './json-schema.ts';
export { DATA_NOTE, parseRunFile, type RunFile, type RunningProcess } from './run-file.ts';
export { EMBEDDED_FLAGS, RESTART_CODE, SERVER_FLAGS } from './server-flags.ts';
export { gateway } from './gateway/contract.ts';
export { observability } from './observability/contract.ts';
export { registry } from './registry/contract.ts';
export { secrets } from './secrets/contract.ts';
export { AuditHead, AuditRecord, type AuditAct, type AuditLook, type AuditOutcome } from './secrets/audit.ts';
export { SecretListItem } from './secrets/env.ts';
export { SEALING_KEY, SecretName, type SecretAsker } from './secrets/operations.ts';
export { sessions } from './sessions/contract.ts';
export { browser } from './browser/contract.ts';
export { channels } from './channels/contract.ts';
export { graph } from './graph/contract.ts';
export { media } from './media/contract.ts';
export { memory } from './memory/contract.ts';
export { scheduler } from './scheduler/contract.ts';
export { tools } from './tools/contract.ts';
export { workspace } from './workspace/contract.ts';
export { MemoryEntry, MemoryType, TrustLevel } from './memory/entry.ts';
export { CronRun, CronSchedule } from './scheduler/cron.ts';
export { HeartbeatState } from './scheduler/heartbeat.ts';
export { GraphDefinition, GraphNode } from './graph/definition.ts';
export { expectedConfig, NodeType, nodeTypeConfigs } from './graph/node-types.ts';
export { GraphStatus, NodeStatus } from './graph/events.ts';
export { GraphWarning, NodeState } from './graph/results.ts';
export { ChannelCapabilities } from './channels/events.ts';
export { ChannelHealth } from './channels/channels.ts';
export { PlatformObject } from './channels/message.ts';
export { DiscordAction, SlackAction, TelegramAction, WhatsAppAction } from './channels/platforms.ts';
export { McpServer, McpState, McpTool, McpTransport } from './tools/mcp.ts';
export { Skill, SkillName } from './tools/skills.ts';

import { unserved } from './unserved-methods.ts';
import type { ServiceName } from '../definition/define.ts';
import { publicMethods, type MethodName } from './contracts.ts';
import { UNREAD_SETTINGS } from '../config/unread-settings.ts';
import { covers } from '../config/immutable.ts';
import type { SectionName } from '../config/sections.ts';

/**
 * A service, or a namespace of a service (`service/prefix`). Settings belong to the smallest of the two that needs them, so that a service
 * can be built namespace by namespace.
 */
export type Owner = ServiceName | `${ServiceName}/${string}`;

/** Owner of each section. `PART_OWNERS` lists settings of other owners within a section. */
const SECTION_OWNERS: Readonly<Record<SectionName, Owner>> = {
  tenantId: 'registry',
  logLevel: 'registry',
  dataDir: 'registry',
  // The files of an agent belong to the workspace; its other data is stored in documents.
  agentDir: 'workspace',
  config: 'registry',
  agents: 'sessions/agent',
  channels: 'channels/channels',
  memory: 'memory',
  security: 'secrets',
  routing: 'channels/message',
  daemon: 'registry',
  scheduler: 'scheduler',
  gateway: 'gateway',
  integrations: 'tools',
  media: 'media/media',
  tts: 'media/tts',
  imageGen: 'media/image',
  monitoring: 'scheduler/heartbeat',
  observability: 'observability',
  diagnostics: 'observability',
  oauth: 'registry',
  plugins: 'tools',
  queue: 'sessions/agent',
  streaming: 'channels/message',
  autoReplyEngine: 'channels/message',
  sendPolicy: 'channels/message',
  embedding: 'registry',
  envelope: 'channels/message',
  browser: 'browser',
  models: 'registry',
  providers: 'registry',
  messages: 'channels/message',
  approvals: 'sessions/admin.approval',
  webhooks: 'gateway',
  lifecycleReactions: 'channels/message',
  responsePrefix: 'channels/message',
  deliveryQueue: 'channels/delivery',
  deliveryMirror: 'channels/delivery',
  deliveryTiming: 'channels/delivery',
  coalescer: 'channels/delivery',
  senderTrustDisplay: 'channels/message',
  documentation: 'sessions/agent',
  telegramFileRefGuard: 'channels/telegram',
};

/** Settings whose owner differs from the owner of their section. */
const PART_OWNERS: Readonly<Record<string, Owner>> = {
  // Background tasks are read and ended with the tool `background_tasks`, so they need the tools service.
  'agents.*.backgroundTasks': 'tools',
  'agents.*.bootstrap': 'workspace',
  'agents.*.broadcastGroups': 'channels/message',
  'agents.*.deferredTools': 'sessions/agent',
  'agents.*.elevatedReply': 'channels/message',
  'agents.*.memoryReview': 'memory',
  'agents.*.notification': 'channels/notification',
  'agents.*.oauthProfiles': 'registry',
  'agents.*.operationModels.condensation': 'sessions/subagent',
  'agents.*.operationModels.cron': 'scheduler',
  'agents.*.operationModels.heartbeat': 'scheduler/heartbeat',
  'agents.*.operationModels.subagent': 'sessions/subagent',
  'agents.*.operationModels.taskExtraction': 'scheduler',
  'agents.*.rag': 'memory',
  'agents.*.reactionLevel': 'channels/message',
  'agents.*.scheduler': 'scheduler',
  'agents.*.session.dmScope': 'channels/message',
  // Progress is shown on channels; the interface has no event for it.
  'agents.*.sep.userVisibleProgress': 'channels/message',
  // These sections come from files of the agent's workspace.
  'agents.*.session.compaction.postCompactionSections': 'workspace',
  'agents.*.skills': 'tools/skills',
  // Most of these tools are those of the workspace.
  'agents.*.skills.builtinTools': 'workspace',
  'agents.*.skills.toolDiscovery': 'sessions/agent',
  'agents.*.skills.toolPolicy': 'sessions/agent',
  'agents.*.sourceGate': 'tools',
  'agents.*.toolLifecycle': 'tools',
  'agents.*.tracing': 'observability',
  'agents.*.workspace': 'workspace',
  'agents.*.workspacePath': 'workspace',
  'daemon.logging.tracing': 'observability',
  // Only a scheduler begins turns by the clock: until then no turn is a scheduled one.
  'integrations.autoReply': 'channels/message',
  'integrations.mcp': 'tools/mcp',
  // Voice notes are transcribed when they arrive on a channel.
  'media.transcription.autoTranscribe': 'channels/message',
  'media.transcription.preflight': 'channels/message',
  'queue.laneAssignment.scheduledLane': 'scheduler',
  'security.actionConfirmation': 'sessions/admin.approval',
  'security.agentToAgent': 'sessions/subagent',
  'webhooks.mappings.*.channel': 'channels/message',
  'webhooks.mappings.*.deliver': 'channels/message',
  'webhooks.mappings.*.textTemplate': 'scheduler',
  'webhooks.mappings.*.to': 'channels/message',
  'webhooks.mappings.*.wakeMode': 'scheduler',
};

/** All of it, by path. */
export const SETTING_OWNERS: Readonly<Record<string, Owner>> = { ...SECTION_OWNERS, ...PART_OWNERS };

/** Returns the service that reads the setting: the owner of the longest declared prefix of its path. */
export function resolveOwner(path: string): Owner | undefined {
  const names = path.split('.');
  const above = Object.keys(SETTING_OWNERS).filter((pattern) => covers(pattern, names));
  const nearest = above.reduce((best, pattern) => (pattern.length > best.length ? pattern : best), '');
  return SETTING_OWNERS[nearest];
}

/** The methods that come with an owner. */
export function listMethods(owner: Owner): MethodName[] {
  const [service, feature] = owner.split('/');
  const all = [...publicMethods.values()].filter((method) => method.service === service);
  return all.map(({ name }) => name as MethodName).filter((name) => feature === undefined || name.startsWith(`${feature}.`));
}

/** Whether an owner is built: all of its methods are served. */
export function isServed(owner: Owner, isMissing: (name: MethodName) => boolean = (name) => unserved.has(name)): boolean {
  return !listMethods(owner).some(isMissing);
}

/** Settings that stay unread although their owner is built. Setting one causes a warning. */
const UNREAD_OF_BUILT_OWNERS: readonly string[] = [
  // Chromium is driven over a pipe, has no window, and has one profile per agent or client on a memory file system. Downloads are refused.
  'browser.baseCdpPort',
  'browser.cdpPort',
  'browser.defaultProfile',
  'browser.downloadTimeoutMs',
  'browser.downloadsDir',
  'browser.headless',
  'browser.profilesDir',
  // Jobs and leases are documents, so there are no folders, lock files or log files.
  'scheduler.cron.storeDir',
  'scheduler.tasks.storeDir',
  'scheduler.execution',
  // Skills are documents, so that every replica has the same ones. They are uploaded and not read from folders.
  'agents.*.skills.discoveryPaths',
  'agents.*.skills.watchDebounceMs',
  'agents.*.skills.watchEnabled',
  // Skills execute no programs.
  'agents.*.skills.execSandbox',
  'agents.*.skills.promptSkills.enableDynamicContext',
  // Media pass between processes through pipes, so there are no temporary files.
  'media.infrastructure.tempCleanupIntervalMs',
  'media.infrastructure.tempFileTtlMs',
  // Pages without text are reported and not rendered.
  'media.documentExtraction.pdfImageFallback',
  'media.documentExtraction.pdfImageFallbackThreshold',
  // What happened in a turn is kept in documents and exported as traces, so there are no trace files.
  'agents.*.tracing',
  'daemon.logging.tracing',
  'diagnostics',
  // Thresholds of alerts are rules of Prometheus.
  'observability.alertBudget',
  // Snapshots are those of channels, which no service runs yet.
  'observability.persistence.snapshotIntervalMs',
  // Sub-agents do not support these yet: condensation by a model, a summary of the parent's conversation, artifacts, and stall detection.
  'agents.*.operationModels.condensation',
  'security.agentToAgent.maxPingPongTurns',
  'security.agentToAgent.subagentContext.artifactPassthrough',
  'security.agentToAgent.subagentContext.autoCompactThreshold',
  'security.agentToAgent.subagentContext.includeParentHistory',
  'security.agentToAgent.subagentContext.narrativeCasting',
  'security.agentToAgent.subagentContext.parentSummaryMaxTokens',
  'security.agentToAgent.subagentContext.stuckKillThresholdMs',
  'security.agentToAgent.waitTimeoutMs',
];

/** Lists settings without a reader although their owner is built. Settings of unbuilt services are excluded. */
export function remainingSettings(isMissing?: (name: MethodName) => boolean): string[] {
  return UNREAD_SETTINGS.filter(
    (path) => !UNREAD_OF_BUILT_OWNERS.includes(path) && listOwners(path).some((owner) => isServed(owner, isMissing)),
  );
}

/** The owners of a setting and of the settings below it. */
function listOwners(path: string): Owner[] {
  const below = Object.entries(SETTING_OWNERS).filter(([pattern]) => pattern.startsWith(`${path}.`));
  return [resolveOwner(path) ?? 'registry', ...below.map(([, owner]) => owner)];
}

import { unserved } from './unserved-methods.ts';
import type { ServiceName } from '../definition/define.ts';
import { publicMethods, type MethodName } from './contracts.ts';
import { UNREAD_SETTINGS } from '../config/unread-settings.ts';
import { covers } from '../config/immutable.ts';
import type { SectionName } from '../config/sections.ts';

/** A service, or a namespace of a service (`service/prefix`) with its own methods. */
export type Owner = ServiceName | `${ServiceName}/${string}`;

/** Owner of each section. `PART_OWNERS` lists settings of other owners within a section. */
const SECTION_OWNERS: Readonly<Record<SectionName, Owner>> = {
  tenantId: 'registry',
  logLevel: 'registry',
  dataDir: 'registry',
  // The files of an agent belong to the workspace; its other data is stored in documents.
  agentDir: 'workspace',
  config: 'registry',
  agents: 'sessions',
  channels: 'channels',
  memory: 'memory',
  security: 'secrets',
  routing: 'channels',
  daemon: 'registry',
  scheduler: 'scheduler',
  gateway: 'gateway',
  integrations: 'tools',
  media: 'media',
  tts: 'media',
  imageGen: 'media',
  monitoring: 'observability',
  observability: 'observability',
  diagnostics: 'observability',
  oauth: 'registry',
  plugins: 'tools',
  queue: 'sessions',
  streaming: 'channels',
  autoReplyEngine: 'channels',
  sendPolicy: 'channels',
  embedding: 'registry',
  envelope: 'channels',
  browser: 'browser',
  models: 'registry',
  providers: 'registry',
  messages: 'channels',
  approvals: 'sessions/admin.approval',
  webhooks: 'gateway',
  lifecycleReactions: 'channels',
  responsePrefix: 'channels',
  deliveryQueue: 'channels',
  deliveryMirror: 'channels',
  deliveryTiming: 'channels',
  coalescer: 'channels',
  senderTrustDisplay: 'channels',
  documentation: 'sessions',
  telegramFileRefGuard: 'channels',
};

/** Settings whose owner differs from the owner of their section. */
const PART_OWNERS: Readonly<Record<string, Owner>> = {
  // Background tasks are read and ended with the tool `background_tasks`, so they need the tools service.
  'agents.*.backgroundTasks': 'tools',
  'agents.*.bootstrap': 'workspace',
  'agents.*.broadcastGroups': 'channels',
  'agents.*.deferredTools': 'sessions',
  'agents.*.elevatedReply': 'channels',
  'agents.*.memoryReview': 'memory',
  'agents.*.notification': 'channels',
  'agents.*.oauthProfiles': 'registry',
  'agents.*.operationModels.condensation': 'sessions/subagent',
  'agents.*.operationModels.cron': 'scheduler',
  'agents.*.operationModels.heartbeat': 'scheduler',
  'agents.*.operationModels.subagent': 'sessions/subagent',
  'agents.*.operationModels.taskExtraction': 'scheduler',
  'agents.*.rag': 'memory',
  'agents.*.reactionLevel': 'channels',
  'agents.*.scheduler': 'scheduler',
  'agents.*.session.dmScope': 'channels',
  // Progress is shown on channels; the interface has no event for it.
  'agents.*.sep.userVisibleProgress': 'channels',
  // These sections come from files of the agent's workspace.
  'agents.*.session.compaction.postCompactionSections': 'workspace',
  'agents.*.skills': 'tools',
  'agents.*.skills.toolDiscovery': 'sessions',
  'agents.*.skills.toolPolicy': 'sessions',
  'agents.*.sourceGate': 'tools',
  'agents.*.toolLifecycle': 'tools',
  'agents.*.tracing': 'observability',
  'agents.*.workspace': 'workspace',
  'agents.*.workspacePath': 'workspace',
  'daemon.logging.tracing': 'observability',
  // Only a scheduler begins turns by the clock: until then no turn is a scheduled one.
  'queue.laneAssignment.scheduledLane': 'scheduler',
  'security.actionConfirmation': 'sessions/admin.approval',
  'security.agentToAgent': 'sessions/subagent',
  'webhooks.mappings.*.channel': 'channels',
  'webhooks.mappings.*.deliver': 'channels',
  'webhooks.mappings.*.textTemplate': 'scheduler',
  'webhooks.mappings.*.to': 'channels',
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

/** Whether an owner is there: it answers some of its methods. */
export function isServed(owner: Owner): boolean {
  return listMethods(owner).some((name) => !unserved.has(name));
}

/** Lists settings without a reader although their owner is built. Settings of unbuilt services are excluded. */
export function remainingSettings(): string[] {
  return UNREAD_SETTINGS.filter((path) => isServed(resolveOwner(path) ?? 'registry'));
}

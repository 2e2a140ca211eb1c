import { unserved } from './unserved-methods.ts';
import type { ServiceName } from '../definition/define.ts';
import { publicMethods, type MethodName } from './contracts.ts';
import { UNREAD_SETTINGS } from '../config/unread-settings.ts';
import { covers } from '../config/immutable.ts';
import type { SectionName } from '../config/sections.ts';

/** A service, or what comes to it with methods of its own: those whose names begin so. */
export type Owner = ServiceName | `${ServiceName}/${string}`;

/** Who reads each section. What belongs to somebody else within it stands below. */
const SECTION_OWNERS: Readonly<Record<SectionName, Owner>> = {
  tenantId: 'registry',
  logLevel: 'registry',
  dataDir: 'registry',
  // What of an agent is in files is its workspace; all else is in documents.
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

/** What within a section is for another than the rest of it. */
const PART_OWNERS: Readonly<Record<string, Owner>> = {
  // What goes on in the background is read and ended with a tool of ours, `background_tasks`, and without it would be lost.
  'agents.*.backgroundTasks': 'tools',
  'agents.*.bootstrap': 'workspace',
  'agents.*.broadcastGroups': 'channels',
  'agents.*.deferredTools': 'tools',
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
  // How far a turn is is told where people are written to; the interface has no event for it.
  'agents.*.sep.userVisibleProgress': 'channels',
  // What an agent is told in headed sections is in the files of its workspace, and in nothing else that there is.
  'agents.*.session.compaction.postCompactionSections': 'workspace',
  'agents.*.skills': 'tools',
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

/** Who reads, or is to read, the setting at this path: the nearest that is said at it or above it. */
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

/** What nothing reads although its owner is there: what is left to do, or has no meaning here. All else waits for its owner. */
export function remainingSettings(): string[] {
  return UNREAD_SETTINGS.filter((path) => isServed(resolveOwner(path) ?? 'registry'));
}

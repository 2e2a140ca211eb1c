/** Groups of agent tools. Each tool has one. Tools of earlier groups are shown to a model first when not all of them fit. */
export const TOOL_GROUPS = [
  'context',
  'memory',
  'files',
  'exec',
  'web',
  'sessions',
  'runs',
  'spawn',
  'message',
  'notification',
  'cron',
  'heartbeat',
  'graph',
  'browser',
  'media',
  'context_expand',
  'supervisor',
  'platform_actions',
  'skills',
  'mcp',
  'other',
  'dev',
] as const;
export type ToolGroup = (typeof TOOL_GROUPS)[number];

/** A tool as agents, tool policies and logs name it. */
export interface AgentTool {
  name: string;
  group: ToolGroup;
}

/** Names that stand for several groups in `allow` and `deny`. */
const COMBINED_GROUPS: Readonly<Record<string, readonly ToolGroup[]>> = {
  coding: ['files', 'exec'],
  scheduling: ['cron', 'heartbeat'],
  messaging: ['message', 'notification'],
  sessions: ['sessions', 'runs', 'spawn', 'graph'],
  supervisor: ['supervisor', 'heartbeat'],
};

/**
 * Groups of tools whose results contain text of third parties: pages, messages, attachments, answers of other servers. The group `skills`
 * is not among them, because only administrators store skills and the content scan checks each of them.
 */
const UNTRUSTED_GROUPS: ReadonlySet<ToolGroup> = new Set(['web', 'browser', 'media', 'message', 'platform_actions', 'mcp']);

/** Returns whether results of the group's tools may contain text from outside. */
export function isUntrustedGroup(group: ToolGroup): boolean {
  return UNTRUSTED_GROUPS.has(group);
}

/** Returns whether `group:<name>` includes the group. */
export function includesGroup(name: string, group: ToolGroup): boolean {
  return Object.hasOwn(COMBINED_GROUPS, name) ? COMBINED_GROUPS[name]?.includes(group) === true : name === group;
}

const MINIMAL = ['session_search', 'memory_search', 'ask_user'];

/** Tools of each profile: names and `group:<name>`; `*` is every tool that the token and the agent may use. */
export const TOOL_PROFILES = {
  minimal: MINIMAL,
  coding: [...MINIMAL, 'group:files', 'group:exec', 'group:web', 'group:memory'],
  messaging: [...MINIMAL, 'group:message', 'group:notification'],
  supervisor: [...MINIMAL, 'group:spawn', 'group:runs', 'group:graph', 'group:cron'],
  full: ['*'],
  'cron-minimal': ['memory_search', 'session_search', 'group:web', 'message'],
  'heartbeat-minimal': ['read', 'memory_search', 'message'],
} as const satisfies Record<string, readonly string[]>;
export type ToolProfileName = keyof typeof TOOL_PROFILES;
export const TOOL_PROFILE_NAMES = Object.keys(TOOL_PROFILES) as [ToolProfileName, ...ToolProfileName[]];

/** Groups of the tools that are methods, by the first part of the method's name. */
const NAMESPACE_GROUPS: Readonly<Record<string, ToolGroup>> = {
  audio: 'media',
  browser: 'browser',
  channels: 'supervisor',
  context: 'context',
  cron: 'cron',
  ctx: 'context',
  delivery: 'supervisor',
  dev: 'dev',
  discord: 'platform_actions',
  graph: 'graph',
  heartbeat: 'heartbeat',
  image: 'media',
  link: 'web',
  mcp: 'supervisor',
  media: 'media',
  memory: 'memory',
  message: 'message',
  notification: 'notification',
  obs: 'supervisor',
  scheduler: 'cron',
  session: 'sessions',
  skills: 'supervisor',
  slack: 'platform_actions',
  subagent: 'runs',
  telegram: 'platform_actions',
  tts: 'media',
  whatsapp: 'platform_actions',
  workspace: 'files',
};

/** Returns the tool of a method or operation: as declared, or named after it and in the group of its namespace, `other` by default. */
export function describeTool(callable: string, declared: Partial<AgentTool> = {}): AgentTool {
  const group = declared.group ?? NAMESPACE_GROUPS[callable.slice(0, callable.indexOf('.'))] ?? 'other';
  return { name: declared.name ?? toolName(callable), group };
}

/** A method as the name of a tool, which models and MCP clients can spell: `session.history` is `session_history`. */
export function toolName(method: string): string {
  return method.replaceAll('.', '_');
}

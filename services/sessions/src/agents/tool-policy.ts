import { toolName, type AgentConfig } from '@switchyard/contracts';

/** The agent's `skills.toolPolicy`. */
export type ToolPolicy = AgentConfig['skills']['toolPolicy'];

/** Method names, or namespaces with a trailing dot. */
type Names = readonly string[];

/** Meaning of `group:<name>` in `allow` and `deny`. */
const GROUPS: Readonly<Record<string, Names>> = {
  coding: ['workspace.'],
  web: ['link.'],
  browser: ['browser.'],
  memory: ['memory.'],
  scheduling: ['cron.', 'heartbeat.', 'scheduler.'],
  messaging: ['message.', 'notification.'],
  sessions: ['session.', 'subagent.', 'graph.'],
  platform_actions: ['discord.', 'telegram.', 'slack.', 'whatsapp.'],
  supervisor: ['obs.', 'heartbeat.', 'channels.', 'skills.', 'mcp.'],
  context: ['context.', 'session.search', 'ctx.search', 'ctx.inspect', 'ctx.recall'],
  context_expand: ['ctx.expand'],
};

/** Tools of each profile; `full` includes everything. */
const PROFILES: Readonly<Record<Exclude<ToolPolicy['profile'], 'full'>, Names>> = {
  minimal: ['workspace.readFile', 'workspace.writeFile'],
  coding: ['workspace.'],
  messaging: ['message.', 'notification.', 'session.status'],
  supervisor: GROUPS['supervisor'] ?? [],
};

/** Returns whether a policy allows a method: in the profile or the allow list, and not in the deny list. */
export function allows({ profile, allow, deny }: ToolPolicy, method: string): boolean {
  if (names(deny, method)) return false;
  return profile === 'full' || covers(PROFILES[profile], method) || names(allow, method);
}

/** Matches a method name, its tool name, or a group. */
function names(listed: readonly string[], method: string): boolean {
  return listed.some((name) => {
    if (name === method || name === toolName(method)) return true;
    return covers(getGroup(name), method);
  });
}

function getGroup(name: string): Names {
  const group = name.startsWith('group:') ? name.slice('group:'.length) : '';
  return Object.hasOwn(GROUPS, group) ? (GROUPS[group] ?? []) : [];
}

function covers(those: Names, method: string): boolean {
  return those.some((name) => name === method || (name.endsWith('.') && method.startsWith(name)));
}

import { includesGroup, TOOL_PROFILES, type AgentTool, type ToolProfileName } from '@switchyard/contracts';

/** Which tools may be used: those of the profile and of `allow`, without those of `deny`. */
export interface ToolPolicy {
  profile: ToolProfileName;
  allow: readonly string[];
  deny: readonly string[];
}

/** A tool as policies match it: by its name, by the method behind it, or by its group. */
export interface MatchedTool extends AgentTool {
  /** Undefined for tools that appeared at run time. */
  method?: string;
}

/** Returns whether a policy allows a tool: in the profile or the allow list, and not in the deny list. */
export function allows({ profile, allow, deny }: ToolPolicy, tool: MatchedTool): boolean {
  return !isListed(deny, tool) && (isListed(TOOL_PROFILES[profile], tool) || isListed(allow, tool));
}

/** Returns whether a list contains the tool: its name, its method, `group:<name>`, or `*`. */
export function isListed(listed: readonly string[], { name, method, group }: MatchedTool): boolean {
  return listed.some(
    (entry) =>
      entry === '*' ||
      entry === name ||
      entry === method ||
      (entry.startsWith('group:') && includesGroup(entry.slice('group:'.length), group)),
  );
}

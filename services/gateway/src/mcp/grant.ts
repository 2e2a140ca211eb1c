import type { Rate } from '@switchyard/cache';
import { toolName, type Principal } from '@switchyard/contracts';
import { TOOL_CALLS } from '../auth/rate-limits.ts';
import type { Caller } from '../request/caller.ts';

/** What one token finds at `/mcp`. */
export interface Grant {
  /** Nothing is named that it may call. */
  readonly empty: boolean;
  mayCall(tool: string): boolean;
  rateOf(tool: string): Rate;
  /** The keys of the sessions that it may read. */
  readonly sessions: readonly string[];
  /** For whom its tools are called. */
  readonly principal: Principal;
}

const grants = new WeakMap<Caller, Grant>();

/** A token of every scope may call every tool. One of `mcp-client` has what it was given by name, and beyond that nothing. */
export function grantOf(caller: Caller): Grant {
  let grant = grants.get(caller);
  if (!grant) grants.set(caller, (grant = createGrant(caller)));
  return grant;
}

function createGrant({ scopes, mcpClient, principal }: Caller): Grant {
  const all = scopes.includes('*');
  const patterns = (mcpClient?.allowlist ?? []).map(toolName);
  const limits = new Map(Object.entries(mcpClient?.toolRateLimit ?? {}).map(([name, max]) => [toolName(name), max]));
  return {
    empty: !all && patterns.length === 0,
    mayCall: (tool) => all || patterns.some((pattern) => matches(pattern, tool)),
    rateOf(tool) {
      const max = limits.get(tool);
      return max === undefined ? TOOL_CALLS : { ...TOOL_CALLS, max };
    },
    sessions: mcpClient?.sessionAllowlist ?? [],
    // Which sessions it may read stands in its list alone: a tool shows it none but those that it made.
    principal: all ? principal : { ...principal, sessions: 'own' },
  };
}

/** A name, or the beginning of names and a star. */
function matches(pattern: string, tool: string): boolean {
  return pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : pattern === tool;
}

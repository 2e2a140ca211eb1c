import type { Rate } from '@switchyard/cache';
import { toolName, type Principal } from '@switchyard/contracts';
import { DEFAULT_TOOL_CALL_RATE } from '../auth/rate-limits.ts';
import type { Caller } from '../request/caller.ts';

/** The MCP permissions of a token. */
export interface Grant {
  /** Whether no tool is allowed. */
  readonly empty: boolean;
  mayCall(tool: string): boolean;
  getRate(tool: string): Rate;
  /** The keys of the readable sessions. */
  readonly sessions: readonly string[];
  /** The principal of tool calls. */
  readonly principal: Principal;
}

const grants = new WeakMap<Caller, Grant>();

/** Scope `*` allows every tool. Scope `mcp-client` allows the tools of its allowlist only. */
export function getGrant(caller: Caller): Grant {
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
    getRate(tool) {
      const max = limits.get(tool);
      return max === undefined ? DEFAULT_TOOL_CALL_RATE : { ...DEFAULT_TOOL_CALL_RATE, max };
    },
    sessions: mcpClient?.sessionAllowlist ?? [],
    // Tools see only sessions created by the token. Readable sessions come from the allowlist.
    principal: all ? principal : { ...principal, sessions: 'own' },
  };
}

/** Matches a name, or a prefix followed by a star. */
function matches(pattern: string, tool: string): boolean {
  return pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : pattern === tool;
}

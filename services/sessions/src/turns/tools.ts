import {
  publicMethods,
  ServiceError,
  unserved,
  within,
  type Callable,
  type MethodName,
  type Principal,
  type TokenScope,
} from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { ToolCall, ToolSpec } from '@switchyard/models';
import { z } from 'zod';

/** The tools of one turn: what the model is told of, and how a call of it is answered. */
export interface ToolBox {
  specs: readonly ToolSpec[];
  /** Never throws for what a tool says: a failure is a result the model can read. */
  use(call: ToolCall, signal: AbortSignal): Promise<{ result: unknown; failed: boolean }>;
}

/** The agent's `skills.toolPolicy`: the profile's tools and those allowed by name, less those denied (facts 2.7). */
export interface ToolPolicy {
  profile: string;
  allow: readonly string[];
  deny: readonly string[];
}

/** Method names as models can spell them: `session.history` is `session_history`. */
function toolName(method: string): string {
  return method.replaceAll('.', '_');
}

interface Tool {
  method: Callable;
  spec: ToolSpec;
}

function catalogue(): ReadonlyMap<string, Tool> {
  const tools = new Map<string, Tool>();
  for (const method of publicMethods.values()) {
    if (!method.tool || unserved.has(method.name as MethodName)) continue;
    const name = toolName(method.name);
    if (tools.has(name)) throw new TypeError(`two methods would be the tool ${name}`);
    const parameters = z.toJSONSchema(method.spec.params, { io: 'input', unrepresentable: 'any' }) as Record<string, unknown>;
    tools.set(name, { method, spec: { name, description: method.spec.summary, parameters } });
  }
  return tools;
}

let known: ReadonlyMap<string, Tool> | undefined;

/** Every method an agent may use within its principal's scopes, called over the bus like any client's call. */
export function toolBox(bus: Bus, principal: Principal, policy: ToolPolicy): ToolBox {
  known ??= catalogue();
  const mine = [...known.values()].filter((tool) => mayUse(tool, principal.scopes, policy));
  const byName = new Map(mine.map((tool) => [tool.spec.name, tool.method]));
  const caller = bus.as(principal);
  return {
    specs: mine.map((tool) => tool.spec),
    async use(call, signal) {
      const method = byName.get(call.name);
      if (!method) return { result: { error: `There is no tool ${call.name}.` }, failed: true };
      try {
        return { result: await caller.call(method.name as 'system.ping', call.input as Record<string, never>, { signal }), failed: false };
      } catch (error) {
        return { result: { error: readable(error) }, failed: true };
      }
    },
  };
}

function mayUse(tool: Tool, scopes: readonly TokenScope[], policy: ToolPolicy): boolean {
  const names = [tool.spec.name, tool.method.name];
  if (names.some((name) => policy.deny.includes(name))) return false;
  if (policy.profile !== 'full' && !names.some((name) => policy.allow.includes(name))) return false;
  return within([tool.method.scope ?? 'rpc'], scopes);
}

function readable(error: unknown): string {
  if (error instanceof ServiceError) return `${error.code}: ${error.message}`;
  throw error;
}

import {
  callables,
  describeTool,
  inputSchema,
  sessions,
  unserved,
  unservedTools,
  type AgentTool,
  type Callable,
  type MethodName,
  type OfferedTool,
  type OperationName,
  type ToolEffect,
} from '@switchyard/contracts';
import type { ToolSpec } from '@switchyard/models';
import type { MatchedTool } from './tool-policy.ts';
import type { READ_RESULT_TOOL } from './tool-result-truncation.ts';

/** A tool that an agent may be offered. */
export interface Tool extends MatchedTool {
  spec: ToolSpec;
  /** Calls change nothing, so they may run in parallel. */
  reads: boolean;
  idempotent: boolean;
  /** What a call does to data. */
  effect: ToolEffect;
  /** The method or operation that executes it; undefined for tools that appeared at run time. */
  callable?: Callable;
  /** The MCP server or skill of a tool that appeared at run time. */
  provider?: string;
}

let declaredCache: readonly Tool[] | undefined;
let servedCache: readonly Tool[] | undefined;

/** All declared tools: methods and operations. */
export function listDeclaredTools(): readonly Tool[] {
  return (declaredCache ??= [...callables.values()].flatMap((callable) => (callable.tool ? [toTool(callable, callable.tool)] : [])));
}

/** The declared tools that a service of this version serves. */
export function listServedTools(): readonly Tool[] {
  return (servedCache ??= listDeclaredTools().filter(({ callable }) => callable === undefined || isServed(callable)));
}

function isServed({ kind, name }: Callable): boolean {
  return kind === 'method' ? !unserved.has(name as MethodName) : !unservedTools.has(name as OperationName);
}

/** Operations that are offered in some turns only: development tools, history lookup, and the reader of stored results. */
export function listOwnTools(namespace: 'ctx.' | 'dev.' | typeof READ_RESULT_TOOL): readonly Tool[] {
  return Object.keys(sessions.operations)
    .filter((name) => name.startsWith(namespace))
    .flatMap((name) => callables.get(name) ?? [])
    .map((callable) => toTool(callable, describeTool(callable.name)));
}

function toTool(callable: Callable, { name, group }: AgentTool): Tool {
  const { name: method, reads, idempotent, effect, spec } = callable;
  const parameters = inputSchema(spec.params);
  return { name, group, method, reads, idempotent, effect, callable, spec: { name, description: spec.summary, parameters } };
}

/** A tool of an MCP server or a skill. */
export function toOfferedTool(offered: OfferedTool): Tool {
  const { name, group, provider, description, parameters, readOnly, idempotent, effect = readOnly ? 'read' : 'destructive' } = offered;
  return { name, group, provider, reads: readOnly, idempotent: readOnly || idempotent, effect, spec: { name, description, parameters } };
}

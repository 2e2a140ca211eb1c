import { TOOL_GROUPS, type AgentConfig, type ToolGroup } from '@switchyard/contracts';
import type { Tool } from './tool-catalog.ts';
import { isListed } from './tool-policy.ts';

/** Tool schemas that a request carries at most in mode `auto`, as bytes of JSON. A model finds the other tools with `discover`. */
export const MAX_SCHEMA_BYTES = 8_192;

/** Part of the limit that is kept for the tool `discover` itself. */
const DISCOVER_BYTES = 1_024;

export interface DeferredTools {
  visible: readonly Tool[];
  deferred: readonly Tool[];
}

/**
 * Separates the tools that a model sees at once from those that it has to find. Mode `auto` defers nothing while all schemas fit;
 * otherwise the tools of the first groups stay visible, so that the prompt of an agent is the same in each turn.
 */
export function deferTools(
  tools: readonly Tool[],
  { mode, neverDefer, alwaysDefer }: AgentConfig['deferredTools'],
  ownBytes: number,
): DeferredTools {
  if (mode === 'never') return { visible: tools, deferred: [] };
  const kept = new Set(tools.filter((tool) => isListed(neverDefer, tool)));
  const optional = tools.filter((tool) => !kept.has(tool) && !isListed(alwaysDefer, tool));
  const used = ownBytes + measureSchemas([...kept]);
  if (mode === 'auto') for (const tool of selectFitting(optional, tools, used)) kept.add(tool);
  return { visible: tools.filter((tool) => kept.has(tool)), deferred: tools.filter((tool) => !kept.has(tool)) };
}

function selectFitting(optional: readonly Tool[], all: readonly Tool[], used: number): readonly Tool[] {
  if (used + measureSchemas(optional) <= MAX_SCHEMA_BYTES - (optional.length < all.length ? DISCOVER_BYTES : 0)) return optional;
  let left = MAX_SCHEMA_BYTES - DISCOVER_BYTES - used;
  return optional
    .toSorted((one, other) => getRank(one.group) - getRank(other.group))
    .filter((tool) => {
      const bytes = measureSchemas([tool]);
      if (bytes > left) return false;
      left -= bytes;
      return true;
    });
}

function getRank(group: ToolGroup): number {
  return TOOL_GROUPS.indexOf(group);
}

/** Bytes of the schemas in a request, with the separators between them. */
export function measureSchemas(tools: readonly Tool[]): number {
  return tools.reduce((sum, { spec }) => sum + Buffer.byteLength(JSON.stringify(spec)) + 1, 0);
}

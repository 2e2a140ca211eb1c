import type { AgentConfig } from '@switchyard/contracts';
import type { ToolSpec } from '@switchyard/models';
import type { ToolBox } from '../tools/toolbox.ts';
import { isWeak } from '../context-window/model-capability.ts';
import { CHARS_PER_TOKEN, type ModelWindow } from '../context-window/context-window.ts';

/** Compacted tool lists by length. Turns of one agent use the same list again and again. */
const cache = new WeakMap<readonly ToolSpec[], Map<number, readonly ToolSpec[]>>();

/** Minimum length of a tool description. */
const MIN_DESCRIPTION_CHARS = 20;
const DESCRIPTIVE_KEYS = new Set(['description', 'title', 'examples', 'default', '$comment']);
const NAMED_SCHEMA_KEYS = new Set(['properties', '$defs', 'definitions', 'patternProperties']);

/** Shortens the tool descriptions for small models, if their agent is configured so. */
export function compactTools(tools: ToolBox, window: ModelWindow | undefined, engine: AgentConfig['contextEngine']): ToolBox {
  const { enabled, targetTokens } = engine.compactPrompt;
  if (!engine.enabled || !enabled || !isWeak(window?.capability)) return tools;
  return {
    ...tools,
    get specs() {
      return compactSpecs(tools.specs, targetTokens * CHARS_PER_TOKEN);
    },
  };
}

/** Keeps every tool and parameter. Removes descriptions, the least necessary first, until the list fits. */
export function compactSpecs(specs: readonly ToolSpec[], chars: number): readonly ToolSpec[] {
  let bySize = cache.get(specs);
  if (!bySize) cache.set(specs, (bySize = new Map()));
  let short = bySize.get(chars);
  if (!short) bySize.set(chars, (short = shrinkSpecs(specs, chars)));
  return short;
}

function shrinkSpecs(specs: readonly ToolSpec[], chars: number): readonly ToolSpec[] {
  if (jsonLength(specs) <= chars) return specs;
  const bare = specs.map((spec) => ({ ...spec, parameters: stripDescriptions(spec.parameters) }));
  if (jsonLength(bare) <= chars) return bare;
  const around = jsonLength(bare.map((spec) => ({ ...spec, description: '' })));
  const each = Math.max(MIN_DESCRIPTION_CHARS, Math.floor((chars - around) / Math.max(1, bare.length)));
  return bare.map((spec) => ({ ...spec, description: truncate(spec.description, each) }));
}

function jsonLength(specs: readonly ToolSpec[]): number {
  return JSON.stringify(specs).length;
}

/** Removes explanatory keywords from a schema. Property names are not keywords. */
function stripDescriptions(schema: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !DESCRIPTIVE_KEYS.has(key))
      .map(([key, value]) => [key, NAMED_SCHEMA_KEYS.has(key) && isObject(value) ? stripEach(value) : stripNested(value)]),
  );
}

function stripEach(named: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(named).map(([name, value]) => [name, stripNested(value)]));
}

function stripNested(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripNested);
  return isObject(value) ? stripDescriptions(value) : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function truncate(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`;
}

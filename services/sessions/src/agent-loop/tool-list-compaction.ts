import type { AgentConfig } from '@switchyard/contracts';
import type { ToolSpec } from '@switchyard/models';
import type { ToolBox } from './toolbox.ts';
import { isWeak } from '../context-window/model-capability.ts';
import { CHARS_A_TOKEN, type ModelWindow } from '../context-window/context-window.ts';

/** Compacted tool lists by length. Turns of one agent use the same list again and again. */
const made = new WeakMap<readonly ToolSpec[], Map<number, readonly ToolSpec[]>>();

/** Minimum length of a tool description. */
const LEAST_CHARS = 20;
const SAYS_WHY = new Set(['description', 'title', 'examples', 'default', '$comment']);
const NAMED = new Set(['properties', '$defs', 'definitions', 'patternProperties']);

/** Shortens the tool descriptions for small models, if their agent is configured so. */
export function compactTools(tools: ToolBox, window: ModelWindow | undefined, engine: AgentConfig['contextEngine']): ToolBox {
  const { enabled, targetTokens } = engine.compactPrompt;
  if (!engine.enabled || !enabled || !isWeak(window?.capability)) return tools;
  return {
    ...tools,
    get specs() {
      return inFewWords(tools.specs, targetTokens * CHARS_A_TOKEN);
    },
  };
}

/** Keeps every tool and parameter. Removes descriptions, the least necessary first, until the list fits. */
export function inFewWords(specs: readonly ToolSpec[], chars: number): readonly ToolSpec[] {
  let bySize = made.get(specs);
  if (!bySize) made.set(specs, (bySize = new Map()));
  let short = bySize.get(chars);
  if (!short) bySize.set(chars, (short = shortened(specs, chars)));
  return short;
}

function shortened(specs: readonly ToolSpec[], chars: number): readonly ToolSpec[] {
  if (sizeOf(specs) <= chars) return specs;
  const bare = specs.map((spec) => ({ ...spec, parameters: unexplained(spec.parameters) }));
  if (sizeOf(bare) <= chars) return bare;
  const around = sizeOf(bare.map((spec) => ({ ...spec, description: '' })));
  const each = Math.max(LEAST_CHARS, Math.floor((chars - around) / Math.max(1, bare.length)));
  return bare.map((spec) => ({ ...spec, description: beginningOf(spec.description, each) }));
}

function sizeOf(specs: readonly ToolSpec[]): number {
  return JSON.stringify(specs).length;
}

/** Removes explanatory keywords from a schema. Property names are not keywords. */
function unexplained(schema: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !SAYS_WHY.has(key))
      .map(([key, value]) => [key, NAMED.has(key) && isObject(value) ? eachOf(value) : below(value)]),
  );
}

function eachOf(named: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(named).map(([name, value]) => [name, below(value)]));
}

function below(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(below);
  return isObject(value) ? unexplained(value) : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function beginningOf(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

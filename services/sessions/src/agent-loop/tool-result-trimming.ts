import type { AgentConfig } from '@switchyard/contracts';
import type { ModelMessage } from '@switchyard/models';
import type { ContextLayerName, StartLayer } from '../context/context-layers.ts';
import { countMessageChars } from '../context-window/window-guard.ts';

type Engine = AgentConfig['contextEngine'];
type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;

/** Frees prompt space in place. Returns whether it changed anything. */
export type Trim = (messages: ModelMessage[], startLayer?: StartLayer) => boolean;

/** A result to remove, by its position, and why. */
type Removal = readonly [at: number, reason: string];

/** A trimming strategy. Returns the results to remove. */
interface Layer {
  name: ContextLayerName;
  select: (messages: readonly ModelMessage[], engine: Engine) => readonly Removal[];
}

/** A layer that failed this often in a turn is skipped. A failure does not end the turn. */
const MAX_LAYER_FAILURES = 3;
/** Shorter results are kept. */
const MIN_TRIMMED_CHARS = 200;
/** Results of web tools change and can be requested again. */
const EPHEMERAL = /^(?:web|browser|link)[._]/;

/** Creates the trimming of an agent; undefined when its context engine is off. */
export function createTrim(engine: Engine, layers: readonly Layer[] = LAYERS): Trim | undefined {
  if (!engine.enabled) return undefined;
  const failures = new Map<Layer, number>();
  return (messages, startLayer) => {
    let changed = false;
    for (const layer of layers) {
      if ((failures.get(layer) ?? 0) >= MAX_LAYER_FAILURES) continue;
      const record = startLayer?.(layer.name);
      try {
        const pass = removeResults(messages, layer.select(messages, engine));
        changed = pass.removedChars > 0 || changed;
        record?.(pass);
      } catch {
        failures.set(layer, (failures.get(layer) ?? 0) + 1);
      }
    }
    return changed;
  };
}

function removeResults(messages: ModelMessage[], removals: readonly Removal[]) {
  const removed: Record<string, number> = {};
  let removedChars = 0;
  for (const [at, reason] of removals) {
    const chars = replaceResult(messages, at);
    if (chars === 0) continue;
    removedChars += chars;
    removed[reason] = (removed[reason] ?? 0) + 1;
  }
  return { messagesIn: messages.length, messagesOut: messages.length, removedChars, removed };
}

/** Results that are obsolete after `evictionMinAge` steps: a later call repeated them, or they were errors. */
function staleResults(messages: readonly ModelMessage[], { evictionMinAge }: Engine): Removal[] {
  const calls = listCallKeys(messages);
  const later = new Set<string>();
  const dead: Removal[] = [];
  let age = 0;
  for (const [at, message] of [...messages.entries()].toReversed()) {
    if (message.role === 'assistant' && message.toolCalls) age += 1;
    if (message.role !== 'tool') continue;
    const call = calls.get(message.callId) ?? message.callId;
    if (age >= evictionMinAge && (message.failed || later.has(call))) dead.push([at, message.failed ? 'stale_error' : 'superseded_result']);
    if (!message.failed) later.add(call);
  }
  return dead;
}

/** Maps call ids to name and arguments, which identify repeated calls. */
function listCallKeys(messages: readonly ModelMessage[]): Map<string, string> {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  return new Map(calls.map(({ callId, name, text }) => [callId, `${name} ${text}`]));
}

/**
 * Removes the oldest results when all together are too long, until they are well below the limit. The prompt then stays the same for
 * several steps and is cached. The latest results stay, fewer of them for web tools.
 */
function oldestResults(messages: readonly ModelMessage[], engine: Engine): Removal[] {
  const { trigger, enough, keep } = getLimits(engine);
  const answers = listResults(messages);
  let chars = answers.reduce((sum, one) => sum + one.chars, 0);
  if (chars <= trigger) return [];
  const ephemeral = answers.filter(({ name }) => EPHEMERAL.test(name));
  const keptItems = new Set([
    ...answers.filter(({ name }) => !EPHEMERAL.test(name)).slice(-keep),
    ...ephemeral.slice(-Math.min(keep, engine.ephemeralKeepWindow)),
  ]);
  const old: Removal[] = [];
  for (const one of answers) {
    if (chars < enough) break;
    if (keptItems.has(one) || one.chars < MIN_TRIMMED_CHARS) continue;
    old.push([one.at, 'old_result']);
    chars -= one.chars;
  }
  return old;
}

function getLimits(engine: Engine): { trigger: number; enough: number; keep: number } {
  const { version, observationTriggerChars, observationDeactivationChars, observationKeepWindow } = engine;
  if (version === 'dag') return { trigger: engine.annotationTriggerChars, enough: 0, keep: engine.annotationKeepWindow };
  return { trigger: observationTriggerChars, enough: observationDeactivationChars, keep: observationKeepWindow };
}

function listResults(messages: readonly ModelMessage[]): { at: number; name: string; chars: number }[] {
  return messages.flatMap((message, at) =>
    message.role === 'tool' ? [{ at, name: message.name, chars: countMessageChars(message) }] : [],
  );
}

const LAYERS: readonly Layer[] = [
  { name: 'result-eviction', select: staleResults },
  { name: 'result-masking', select: oldestResults },
];

/** Returns the number of removed characters; 0 if there was nothing to remove. */
function replaceResult(messages: ModelMessage[], at: number): number {
  const message = messages[at];
  if (message?.role !== 'tool') return 0;
  const chars = countMessageChars(message);
  if (chars < MIN_TRIMMED_CHARS) return 0;
  const result = placeholderFor(message, chars);
  messages[at] = { ...message, result };
  return Math.max(1, chars - result.length);
}

function placeholderFor({ name, failed }: ToolMessage, chars: number): string {
  return `[${failed ? 'An error' : 'A result'} of ${name} with ${chars} characters was removed to save space. Call the tool again if you need it.]`;
}

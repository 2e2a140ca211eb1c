import type { AgentConfig } from '@switchyard/contracts';
import type { ModelMessage } from '@switchyard/models';
import { countMessageChars } from '../context-window/window-guard.ts';

type Engine = AgentConfig['contextEngine'];
type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;

/** Frees prompt space in place. Returns whether it changed anything. */
export type Trim = (messages: ModelMessage[]) => boolean;

/** A trimming strategy. Returns the positions of the results to remove. */
type Layer = (messages: readonly ModelMessage[], engine: Engine) => readonly number[];

/** A layer that failed this often in a turn is skipped. A failure does not end the turn. */
const MAX_LAYER_FAILURES = 3;
/** Shorter results are kept. */
const MIN_TRIMMED_CHARS = 200;
/** Results of web tools change and can be requested again. */
const EPHEMERAL = /^(?:web|browser|link)[._]/;

/** Creates the trimming of an agent; undefined when its context engine is off. */
export function createTrim(engine: Engine, layers: readonly Layer[] = [staleResults, oldestResults]): Trim | undefined {
  if (!engine.enabled) return undefined;
  const failures = new Map<Layer, number>();
  return (messages) => {
    let changed = false;
    for (const layer of layers) {
      if ((failures.get(layer) ?? 0) >= MAX_LAYER_FAILURES) continue;
      try {
        for (const at of layer(messages, engine)) changed = replaceResult(messages, at) || changed;
      } catch {
        failures.set(layer, (failures.get(layer) ?? 0) + 1);
      }
    }
    return changed;
  };
}

/** Results that are obsolete after `evictionMinAge` steps: a later call repeated them, or they were errors. */
function staleResults(messages: readonly ModelMessage[], { evictionMinAge }: Engine): number[] {
  const calls = listCallKeys(messages);
  const later = new Set<string>();
  const dead: number[] = [];
  let age = 0;
  for (const [at, message] of [...messages.entries()].toReversed()) {
    if (message.role === 'assistant' && message.toolCalls) age += 1;
    if (message.role !== 'tool') continue;
    const call = calls.get(message.callId) ?? message.callId;
    if (age >= evictionMinAge && (message.failed || later.has(call))) dead.push(at);
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
function oldestResults(messages: readonly ModelMessage[], engine: Engine): number[] {
  const { trigger, enough, keep } = getLimits(engine);
  const answers = listResults(messages);
  let chars = answers.reduce((sum, one) => sum + one.chars, 0);
  if (chars <= trigger) return [];
  const ephemeral = answers.filter(({ name }) => EPHEMERAL.test(name));
  const keptItems = new Set([
    ...answers.filter(({ name }) => !EPHEMERAL.test(name)).slice(-keep),
    ...ephemeral.slice(-Math.min(keep, engine.ephemeralKeepWindow)),
  ]);
  const old: number[] = [];
  for (const one of answers) {
    if (chars < enough) break;
    if (keptItems.has(one) || one.chars < MIN_TRIMMED_CHARS) continue;
    old.push(one.at);
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

/** Returns false if there was nothing to remove. */
function replaceResult(messages: ModelMessage[], at: number): boolean {
  const message = messages[at];
  if (message?.role !== 'tool') return false;
  const chars = countMessageChars(message);
  if (chars < MIN_TRIMMED_CHARS) return false;
  messages[at] = { ...message, result: placeholderFor(message, chars) };
  return true;
}

function placeholderFor({ name, failed }: ToolMessage, chars: number): string {
  return `[${failed ? 'An error' : 'A result'} of ${name} with ${chars} characters was removed to save space. Call the tool again if you need it.]`;
}

import { toolName, type AgentConfig } from '@switchyard/contracts';
import type { ModelMessage } from '@switchyard/models';
import type { StartLayer } from '../context/context-layers.ts';
import { countMessageChars } from '../context-window/window-guard.ts';
import { toTokens } from '../context-window/context-window.ts';

type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;
type Cut = 'trimmed' | 'cleared';

/** Shortens old tool results in the prompt of a turn. */
export interface Pruning {
  /** Returns a copy of the messages with long results shortened. The stored turn is unchanged. */
  apply: (messages: readonly ModelMessage[], startLayer?: StartLayer) => readonly ModelMessage[];
}

export interface PruningOptions {
  config: Pick<AgentConfig, 'contextPruning' | 'preserveRecent'> & { session: Pick<AgentConfig['session'], 'pruning'> };
  /** Context window of the model in tokens; undefined if unknown. */
  window: number | undefined;
}

/** Characters kept at each end of a result that is trimmed because the window fills up. */
const KEPT_END_CHARS = 500;
/** Reference to the stored rest of a truncated result (`agent-loop/tool-result-truncation.ts`). */
const POINTER = /\[truncated: [^\]]{1,500}\]$/;
const POINTER_CHARS = 600;

/**
 * Trims or clears long results of the turn's own tools: by `session.pruning` always, by `contextPruning` when the window fills up. The
 * latest messages and everything before `from` stay complete.
 */
export function createPruning({ config, window }: PruningOptions, from: number): Pruning {
  const { session, contextPruning, preserveRecent } = config;
  const bySize = session.pruning.enabled ? session.pruning : undefined;
  const byFill = contextPruning.enabled && window !== undefined ? contextPruning : undefined;
  const pruneable = toToolNames(bySize?.pruneableTools);
  const guarded = { bySize: toToolNames(bySize?.protectedTools), byFill: toToolNames(byFill?.protectedTools) };
  const copies = new Map<Cut, WeakMap<ToolMessage, ModelMessage>>([
    ['trimmed', new WeakMap()],
    ['cleared', new WeakMap()],
  ]);

  function cutBySize(message: ToolMessage, chars: number): Cut | undefined {
    if (!bySize || guarded.bySize.has(message.name) || (pruneable.size > 0 && !pruneable.has(message.name))) return undefined;
    if (bySize.protectImageBlocks && hasImage(message)) return undefined;
    if (chars > bySize.hardClearThresholdChars) return 'cleared';
    return chars > bySize.softTrimThresholdChars ? 'trimmed' : undefined;
  }

  function cutByFill(message: ToolMessage, chars: number, filled: number): Cut | undefined {
    if (!byFill || guarded.byFill.has(message.name) || chars < byFill.minPrunableToolChars) return undefined;
    if (filled > byFill.hardClearRatio) return 'cleared';
    return filled > byFill.softTrimRatio ? 'trimmed' : undefined;
  }

  function prunedCopy(message: ToolMessage, cut: Cut): ModelMessage {
    const known = copies.get(cut);
    const copy = known?.get(message) ?? { ...message, result: pruneText(message, cut, bySize) };
    known?.set(message, copy);
    return copy;
  }

  return {
    apply(messages, startLayer) {
      const record = startLayer?.('result-pruning');
      const removed = { trimmed_result: 0, cleared_result: 0 };
      let removedChars = 0;
      const filled = byFill ? toTokens(messages.reduce((sum, one) => sum + countMessageChars(one), 0)) / (window ?? Infinity) : 0;
      const sizeUntil = messages.length - Math.max(bySize?.preserveRecentCount ?? 0, preserveRecent);
      const fillUntil = Math.min(messages.length - preserveRecent, lastAssistants(messages, byFill?.keepLastAssistants ?? 0));
      let sent: ModelMessage[] | undefined;
      for (let at = from; at < Math.max(sizeUntil, fillUntil); at += 1) {
        const message = messages[at];
        if (message?.role !== 'tool') continue;
        const chars = countMessageChars(message);
        const cuts = [at < sizeUntil && cutBySize(message, chars), at < fillUntil && cutByFill(message, chars, filled)];
        const cut = cuts.includes('cleared') ? 'cleared' : cuts.includes('trimmed') ? 'trimmed' : undefined;
        if (cut === undefined) continue;
        sent ??= [...messages];
        const copy = prunedCopy(message, cut);
        sent[at] = copy;
        removed[`${cut}_result`] += 1;
        removedChars += Math.max(0, chars - countMessageChars(copy));
      }
      if (sent) record?.({ messagesIn: messages.length, messagesOut: sent.length, removedChars, removed, repeats: true });
      return sent ?? messages;
    },
  };
}

/** Settings may use method names or tool names. */
function toToolNames(names: readonly string[] = []): ReadonlySet<string> {
  return new Set(names.map(toolName));
}

/** Returns the position of the n-th last assistant message. */
function lastAssistants(messages: readonly ModelMessage[], count: number): number {
  let remaining = count;
  for (let at = messages.length - 1; at >= 0 && remaining > 0; at -= 1) {
    if (messages[at]?.role === 'assistant' && --remaining === 0) return at;
  }
  return remaining > 0 ? 0 : messages.length;
}

function pruneText(message: ToolMessage, cut: Cut, ends: AgentConfig['session']['pruning'] | undefined): string {
  const text = getText(message);
  if (cut === 'cleared') {
    const location = POINTER.exec(text.slice(-POINTER_CHARS))?.[0];
    return `[cleared: a result of ${message.name} with ${text.length} characters]${location === undefined ? '' : ` ${location}`}`;
  }
  const { preserveHeadChars: head, preserveTailChars: tail } = ends ?? {
    preserveHeadChars: KEPT_END_CHARS,
    preserveTailChars: KEPT_END_CHARS,
  };
  if (text.length <= head + tail) return text;
  const left = text.length - head - tail;
  return `${text.slice(0, head)}… [trimmed: ${left} characters removed] …${text.slice(text.length - tail)}`.toWellFormed();
}

/** Plain text is never treated as an image. */
function hasImage(message: ToolMessage): boolean {
  return typeof message.result !== 'string' && getText(message).includes('"type":"image');
}

function getText({ result }: ToolMessage): string {
  return typeof result === 'string' ? result : JSON.stringify(result ?? null);
}

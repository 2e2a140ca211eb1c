import { toolCall, type ProviderFields, type ToolCall } from '@switchyard/models';
import { CANARY, createOutputGuard, createReasoningFilter, outputWarnings, redactCanaries } from '@switchyard/security';
import type { OutputFinding } from '../screening/output-finding.ts';
import type { ModelReply } from './model-call.ts';

export interface OutputFilterOptions {
  /** Only text inside `<final>` is the answer. */
  finalOnly?: boolean | undefined;
  onFinding?: ((finding: OutputFinding) => void) | undefined;
}

/**
 * Removes reasoning, secrets and canaries from an answer, also when they span several pieces, and canaries from tool calls. Holds back
 * only text that may be the start of such a sequence. No generator, because each generator step costs as much as reading a piece.
 */
export interface OutputFilter {
  /** Returns the text that may be published after this piece. */
  push: (piece: string) => string;
  /** Returns the stored answer, and the part of it that was not published yet. */
  end: (reply: ModelReply) => { message: ModelReply; rest: string };
}

export function createOutputFilter({ finalOnly = false, onFinding }: OutputFilterOptions): OutputFilter {
  const reasoning = createReasoningFilter(finalOnly);
  const guard = createOutputGuard();
  let text = '';
  let streamed = false;

  function append(piece: string): string {
    text += piece;
    return piece;
  }

  return {
    push(piece) {
      streamed = true;
      return append(guard.push(reasoning.push(piece)));
    },
    end(content) {
      if (!streamed) append(guard.push(reasoning.push(content.text)));
      const rest = append(guard.push(reasoning.end()) + guard.end());
      const calls = content.calls.length === 0 ? content.calls : cleanCalls(content.calls);
      const redacted = calls === content.calls ? guard.found : [...new Set([...guard.found, CANARY])];
      const finding = { redacted, warned: outputWarnings(text) };
      if (finding.redacted.length + finding.warned.length > 0) onFinding?.(finding);
      // An unchanged reply stays the same object, because `EMPTY_REPLY` is compared by identity.
      return {
        message: content.text === text && content.calls === calls ? content : { ...content, text, calls },
        rest: streamed ? rest : '',
      };
    },
  };
}

/** Returns whether fields of a provider may be shown to a client. They are opaque, so no part of them can be removed. */
export function mayShow(fields: ProviderFields['fields']): boolean {
  const guard = createOutputGuard();
  const text = JSON.stringify(fields);
  return guard.push(text) + guard.end() === text;
}

/** Returns the same array if no call contains a canary. */
function cleanCalls(calls: ToolCall[]): ToolCall[] {
  const clean = calls.map((call) => cleanCall(call));
  return clean.every((call, at) => call === calls[at]) ? calls : clean;
}

function cleanCall(call: ToolCall): ToolCall {
  // Escaped characters are decoded before the search, because the reader of the call decodes them too.
  const written = typeof call.input === 'string' || !call.text.includes('\\u') ? call.text : JSON.stringify(call.input);
  const [name, text] = [redactCanaries(call.name), redactCanaries(written)];
  return name === call.name && text === written ? call : toolCall(call.callId, name, text, call.providerFields);
}

import { toolCall, type ToolCall } from '@switchyard/models';
import { CANARY, createOutputGuard, createReasoningFilter, outputWarnings, redactCanaries } from '@switchyard/security';
import type { OutputFinding } from '../screening/output-finding.ts';
import type { ModelReply } from './model-call.ts';

export interface OutputFilterOptions {
  /** Only what stands in `<final>` is the answer. */
  finalOnly?: boolean | undefined;
  onFinding?: ((finding: OutputFinding) => void) | undefined;
}

/**
 * Removes reasoning, secrets and canaries from an answer, also when they span several pieces, and canaries from tool calls. Holds back
 * only text that may be the start of such a sequence. No generator, because each generator step costs as much as reading a piece.
 */
export interface OutputFilter {
  /** What may be told now that this piece came. */
  push: (piece: string) => string;
  /** The answer as it is kept, and what of it was not told yet. */
  end: (reply: ModelReply) => { said: ModelReply; rest: string };
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
    end(said) {
      if (!streamed) append(guard.push(reasoning.push(said.text)));
      const rest = append(guard.push(reasoning.end()) + guard.end());
      const calls = said.calls.length === 0 ? said.calls : cleanCalls(said.calls);
      const redacted = calls === said.calls ? guard.found : [...new Set([...guard.found, CANARY])];
      const finding = { redacted, warned: outputWarnings(text) };
      if (finding.redacted.length + finding.warned.length > 0) onFinding?.(finding);
      // What was said as it is stays the value that it is: some are known by themselves.
      return { said: said.text === text && said.calls === calls ? said : { ...said, text, calls }, rest: streamed ? rest : '' };
    },
  };
}

/** The same list where no call has a mark. */
function cleanCalls(calls: ToolCall[]): ToolCall[] {
  const clean = calls.map((call) => cleanCall(call));
  return clean.every((call, at) => call === calls[at]) ? calls : clean;
}

function cleanCall(call: ToolCall): ToolCall {
  // A letter that is written as an escape is the letter to whoever reads the call.
  const written = typeof call.input === 'string' || !call.text.includes('\\u') ? call.text : JSON.stringify(call.input);
  const [name, text] = [redactCanaries(call.name), redactCanaries(written)];
  return name === call.name && text === written ? call : toolCall(call.callId, name, text);
}

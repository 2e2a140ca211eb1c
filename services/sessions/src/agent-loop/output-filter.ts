import { toolCall, type ToolCall } from '@switchyard/models';
import { CANARY, createOutputGuard, createReasoningFilter, outputWarnings, redactCanaries } from '@switchyard/security';
import type { OutputFinding } from '../screening/output-finding.ts';
import type { Said } from './model-call.ts';

export interface OutputGiven {
  /** Only what stands in `<final>` is the answer. */
  finalOnly?: boolean | undefined;
  found?: ((finding: OutputFinding) => void) | undefined;
}

/**
 * An answer as it may leave: without what its model thought aloud, and without secrets, wherever its pieces cut them; its calls without
 * the marks of prompts, before anybody makes or reads one. Only what could be
 * the beginning of such a thing waits for the next piece. No generator: each that a piece goes through costs as much as reading it.
 */
export interface SpokenOutput {
  /** What may be told now that this piece came. */
  push: (piece: string) => string;
  /** The answer as it is kept, and what of it was not told yet. */
  end: (said: Said) => { said: Said; rest: string };
}

export function createSpokenOutput({ finalOnly = false, found }: OutputGiven): SpokenOutput {
  const reasoning = createReasoningFilter(finalOnly);
  const guard = createOutputGuard();
  let text = '';
  let streamed = false;

  function say(piece: string): string {
    text += piece;
    return piece;
  }

  return {
    push(piece) {
      streamed = true;
      return say(guard.push(reasoning.push(piece)));
    },
    end(said) {
      if (!streamed) say(guard.push(reasoning.push(said.text)));
      const rest = say(guard.push(reasoning.end()) + guard.end());
      const calls = said.calls.length === 0 ? said.calls : unmarked(said.calls);
      const redacted = calls === said.calls ? guard.found : [...new Set([...guard.found, CANARY])];
      const finding = { redacted, warned: outputWarnings(text) };
      if (finding.redacted.length + finding.warned.length > 0) found?.(finding);
      // What was said as it is stays the value that it is: some are known by themselves.
      return { said: said.text === text && said.calls === calls ? said : { ...said, text, calls }, rest: streamed ? rest : '' };
    },
  };
}

/** The same list where no call has a mark. */
function unmarked(calls: ToolCall[]): ToolCall[] {
  const clean = calls.map((call) => withoutMarks(call));
  return clean.every((call, at) => call === calls[at]) ? calls : clean;
}

function withoutMarks(call: ToolCall): ToolCall {
  // A letter that is written as an escape is the letter to whoever reads the call.
  const written = typeof call.input === 'string' || !call.text.includes('\\u') ? call.text : JSON.stringify(call.input);
  const [name, text] = [redactCanaries(call.name), redactCanaries(written)];
  return name === call.name && text === written ? call : toolCall(call.callId, name, text);
}

import type { ToolCall } from './model.ts';

/** A call as it was written. Arguments that are not JSON stay text: the validation of the tool tells the model what is wrong. */
export function toolCall(callId: string, name: string, text: string): ToolCall {
  if (text.trim() === '') return { callId, name, input: {}, text: '{}' };
  return { callId, name, input: parsed(text), text };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

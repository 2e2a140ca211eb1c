import type { ToolCall } from './model.ts';

/** Creates a tool call. Arguments that are not JSON are kept as text, so that validation can report the error to the model. */
export function toolCall(callId: string, name: string, text: string, providerFields?: ToolCall['providerFields']): ToolCall {
  const fields = providerFields === undefined ? {} : { providerFields };
  if (text.trim() === '') return { callId, name, input: {}, text: '{}', ...fields };
  return { callId, name, input: parseArguments(text), text, ...fields };
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

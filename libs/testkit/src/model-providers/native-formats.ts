/** One part of a model response, in stream order. */
export type NativePart =
  | { text: string }
  | { thought: string; signature: string }
  | { call: { id: string; name: string; /** JSON in streamed pieces. */ input: readonly string[] }; signature?: string };

export interface NativeUsage {
  /** Without tokens read from or written to a cache. */
  input: number;
  output: number;
  cacheRead?: number;
  cacheWrite?: number;
}

export interface NativeAnswer {
  says: readonly NativePart[];
  /** Finish reason in the wire format; by default a normal end. */
  end?: string;
  usage?: NativeUsage;
}

/** Stream events of providers with a native wire format. */
export const NATIVE_WIRES = {
  anthropic: { events: anthropicEvents, error: anthropicError },
  google: { events: googleEvents, error: googleError },
} as const;
export type NativeWire = keyof typeof NATIVE_WIRES;

const USAGE: NativeUsage = { input: 9, output: 4 };

function anthropicEvents({ says, end, usage = USAGE }: NativeAnswer): string[] {
  const counted = {
    input_tokens: usage.input,
    ...(usage.cacheRead === undefined ? {} : { cache_read_input_tokens: usage.cacheRead }),
    ...(usage.cacheWrite === undefined ? {} : { cache_creation_input_tokens: usage.cacheWrite }),
  };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'one', content: [], stop_reason: null, stop_sequence: null };
  const stop = end ?? (says.some((said) => 'call' in said) ? 'tool_use' : 'end_turn');
  return [
    anthropicEvent('message_start', { message: { ...message, usage: { ...counted, output_tokens: 1 } } }),
    ...says.flatMap(anthropicBlock),
    anthropicEvent('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: usage.output } }),
    anthropicEvent('message_stop', {}),
  ];
}

function anthropicBlock(said: NativePart, index: number): string[] {
  const [content_block, deltas] = getBlock(said);
  return [
    anthropicEvent('content_block_start', { index, content_block }),
    ...deltas.map((delta) => anthropicEvent('content_block_delta', { index, delta })),
    anthropicEvent('content_block_stop', { index }),
  ];
}

function getBlock(said: NativePart): [object, object[]] {
  if ('text' in said) return [{ type: 'text', text: '' }, [{ type: 'text_delta', text: said.text }]];
  if ('thought' in said) {
    const { thought: thinking, signature } = said;
    return [
      { type: 'thinking', thinking: '', signature: '' },
      [
        { type: 'thinking_delta', thinking },
        { type: 'signature_delta', signature },
      ],
    ];
  }
  const { id, name, input } = said.call;
  return [{ type: 'tool_use', id, name, input: {} }, input.map((partial_json) => ({ type: 'input_json_delta', partial_json }))];
}

function anthropicEvent(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

function anthropicError(type: string, message: string): string {
  return anthropicEvent('error', { error: { type, message } });
}

function googleEvents({ says, end = 'STOP', usage = USAGE }: NativeAnswer): string[] {
  const { input, output, cacheRead = 0, cacheWrite = 0 } = usage;
  const promptTokenCount = input + cacheRead + cacheWrite;
  const usageMetadata = {
    promptTokenCount,
    candidatesTokenCount: output,
    totalTokenCount: promptTokenCount + output,
    ...(cacheRead === 0 ? {} : { cachedContentTokenCount: cacheRead }),
  };
  return [
    ...says.map((said) => googleChunk({ candidates: [{ index: 0, content: { role: 'model', parts: [getPart(said)] } }] })),
    googleChunk({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: '' }] }, finishReason: end }], usageMetadata }),
  ];
}

function getPart(said: NativePart): object {
  if ('text' in said) return { text: said.text };
  if ('thought' in said) return { text: said.thought, thought: true };
  const { call, signature } = said;
  const functionCall = { name: call.name, args: JSON.parse(call.input.join('')) as unknown };
  return { functionCall, ...(signature === undefined ? {} : { thoughtSignature: signature }) };
}

function googleChunk(members: object): string {
  return `data: ${JSON.stringify({ ...members, modelVersion: 'one', responseId: 'r1' })}\r\n\r\n`;
}

function googleError(status: string, message: string): string {
  const code = status === 'RESOURCE_EXHAUSTED' ? 429 : 503;
  return googleChunk({ error: { code, status, message } });
}

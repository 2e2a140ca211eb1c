import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';

/** What a development model reads of a conversation. */
export interface Conversation {
  /** The last thing the user said. */
  message: string;
  /** What tools answered since then, in order. */
  results: { name: string; text: string; failed: boolean }[];
  /** Tool calls of the whole conversation, so that ids do not repeat. */
  calls: number;
  inputTokens: number;
  /** Names of the tools on offer. */
  tools: string[];
  /** The tool that must be called next. */
  wanted?: string;
}

/** A token of a development model is a word with the white space that follows it. */
export function tokensOf(text: string): string[] {
  return text.match(/\s*\S+\s*/g) ?? [];
}

export function readConversation({ prompt, tools = [], toolChoice }: LanguageModelV4CallOptions): Conversation {
  const offered = toolChoice?.type === 'none' ? [] : tools.map(({ name }) => name);
  const wanted = toolChoice?.type === 'required' ? offered[0] : toolChoice?.type === 'tool' ? toolChoice.toolName : undefined;
  const lastUser = prompt.findLastIndex(({ role }) => role === 'user');
  return {
    message: prompt[lastUser] === undefined ? '' : textOf(prompt[lastUser]),
    results: prompt.slice(lastUser + 1).flatMap(resultsOf),
    calls: prompt.reduce((sum, message) => sum + callsOf(message), 0),
    inputTokens: prompt.reduce((sum, message) => sum + tokensOf(textOf(message)).length, 0),
    tools: offered,
    ...(wanted === undefined ? {} : { wanted }),
  };
}

function textOf(message: LanguageModelV4Message): string {
  if (message.role === 'system') return message.content;
  if (message.role === 'tool')
    return resultsOf(message)
      .map(({ text }) => text)
      .join(' ');
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function callsOf(message: LanguageModelV4Message): number {
  return message.role === 'assistant' ? message.content.filter(({ type }) => type === 'tool-call').length : 0;
}

function resultsOf(message: LanguageModelV4Message): Conversation['results'] {
  if (message.role !== 'tool') return [];
  return message.content.flatMap((part) => {
    if (part.type !== 'tool-result') return [];
    const { output } = part;
    const text = output.type === 'text' || output.type === 'error-text' ? output.value : JSON.stringify(output);
    return [{ name: part.toolName, text, failed: output.type === 'error-text' }];
  });
}

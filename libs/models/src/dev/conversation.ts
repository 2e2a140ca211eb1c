import type { ModelMessage, ModelRequest } from '../model/model.ts';

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

/** How many there are: of plain ASCII counted without making them, since a conversation is read in each of its turns. */
export function countTokens(text: string): number {
  let [tokens, within] = [0, false];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > LAST_ASCII) return tokensOf(text).length;
    const isSpace = code === SPACE || (code >= TAB && code <= CARRIAGE_RETURN);
    if (!isSpace && !within) tokens += 1;
    within = !isSpace;
  }
  return tokens;
}

const [TAB, CARRIAGE_RETURN, SPACE, LAST_ASCII] = [9, 13, 32, 127];

export function readConversation({ system = '', messages, tools = [], toolChoice }: ModelRequest): Conversation {
  const offered = toolChoice === 'none' ? [] : tools.map(({ name }) => name);
  const wanted = toolChoice === 'required' ? offered[0] : typeof toolChoice === 'object' ? toolChoice.name : undefined;
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  return {
    message: messages[asked] === undefined ? '' : textOf(messages[asked]),
    results: messages.slice(asked + 1).flatMap(resultOf),
    calls: messages.reduce((sum, message) => sum + callsOf(message), 0),
    inputTokens: messages.reduce((sum, message) => sum + countTokens(textOf(message)), countTokens(system)),
    tools: offered,
    ...(wanted === undefined ? {} : { wanted }),
  };
}

function textOf(message: ModelMessage): string {
  return message.role === 'tool' ? shown(message.result) : message.text;
}

function callsOf(message: ModelMessage): number {
  return message.role === 'assistant' ? (message.toolCalls?.length ?? 0) : 0;
}

function resultOf(message: ModelMessage): Conversation['results'] {
  return message.role === 'tool' ? [{ name: message.name, text: shown(message.result), failed: message.failed }] : [];
}

function shown(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
}

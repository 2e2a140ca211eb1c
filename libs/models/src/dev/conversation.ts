import type { ModelMessage, ModelRequest } from '../model/model.ts';

/** The parts of a conversation that development models use. */
export interface Conversation {
  /** The last user message. */
  message: string;
  /** Tool results since the last user message, in order. */
  results: { name: string; text: string; failed: boolean }[];
  /** Number of tool calls in the conversation, for unique ids. */
  calls: number;
  inputTokens: number;
  /** Names of the available tools. */
  tools: string[];
  /** The tool that must be called next. */
  requiredTool?: string;
}

/** Splits text into tokens: words with the white space around them. */
export function splitTokens(text: string): string[] {
  return text.match(/\s*\S+\s*/g) ?? [];
}

/** Counts tokens. ASCII text is counted without splitting, because the whole conversation is counted in each turn. */
export function countTokens(text: string): number {
  let [tokens, insideWord] = [0, false];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > LAST_ASCII) return splitTokens(text).length;
    const isSpace = code === SPACE || (code >= TAB && code <= CARRIAGE_RETURN);
    if (!isSpace && !insideWord) tokens += 1;
    insideWord = !isSpace;
  }
  return tokens;
}

const [TAB, CARRIAGE_RETURN, SPACE, LAST_ASCII] = [9, 13, 32, 127];

export function readConversation({ system = '', messages, tools = [], toolChoice }: ModelRequest): Conversation {
  const toolNames = toolChoice === 'none' ? [] : tools.map(({ name }) => name);
  const requiredTool = toolChoice === 'required' ? toolNames[0] : typeof toolChoice === 'object' ? toolChoice.name : undefined;
  const lastUserMessage = messages.findLastIndex(({ role }) => role === 'user');
  return {
    message: messages[lastUserMessage] === undefined ? '' : getText(messages[lastUserMessage]),
    results: messages.slice(lastUserMessage + 1).flatMap(getResults),
    calls: messages.reduce((sum, message) => sum + countCalls(message), 0),
    inputTokens: messages.reduce((sum, message) => sum + countTokens(getText(message)), countTokens(system)),
    tools: toolNames,
    ...(requiredTool === undefined ? {} : { requiredTool }),
  };
}

function getText(message: ModelMessage): string {
  return message.role === 'tool' ? renderResult(message.result) : message.text;
}

function countCalls(message: ModelMessage): number {
  return message.role === 'assistant' ? (message.toolCalls?.length ?? 0) : 0;
}

function getResults(message: ModelMessage): Conversation['results'] {
  return message.role === 'tool' ? [{ name: message.name, text: renderResult(message.result), failed: message.failed }] : [];
}

function renderResult(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
}

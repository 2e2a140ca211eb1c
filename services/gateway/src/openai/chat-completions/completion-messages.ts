import type { CallerToolCall, StatelessTurn, TurnMessage } from '@switchyard/contracts';
import { RefusalError } from '../../request/refusal.ts';
import type { OmittedPart } from '../lenient-content.ts';

/** A message of a request, with its content as text, and the parts of a lenient request that are not text. */
export type RequestMessage = { omitted?: readonly OmittedPart[] | undefined } & (
  | { role: 'system'; content: string }
  | { role: 'user'; content: string; images?: readonly string[] | undefined }
  | { role: 'assistant'; content: string; toolCalls?: CallerToolCall[] | undefined; providerFields?: Record<string, unknown> | undefined }
  | { role: 'tool'; content: string; callId: string; images?: readonly string[] | undefined }
);

/** The messages of a request as parameters of a turn. */
export interface Conversation {
  turn: Pick<StatelessTurn, 'message' | 'images' | 'history' | 'since' | 'system'>;
  /** Whether the messages contain calls of the caller's tools. */
  hasToolCalls: boolean;
}

/**
 * Splits the messages: the last user message is the message of the turn, earlier messages are history, and later messages (results of
 * the caller's tools, or the beginning of an answer) are continued. Throws if there is no user message.
 */
export function toConversation(messages: readonly RequestMessage[], field: 'messages' | 'input' = 'messages'): Conversation {
  const lastUserIndex = messages.findLastIndex(({ role }) => role === 'user');
  const request = messages[lastUserIndex];
  if (request?.role !== 'user')
    throw createFieldRefusal(field, `No user message found in ${field === 'messages' ? 'messages array' : field}`);
  const { content: message, images } = request;
  if (message === '') throw createFieldRefusal(field, `Invalid request: ${field}: expected a non-empty user message`);
  const turnMessages = toTurnMessages(messages, field);
  const compact = (list: readonly (TurnMessage | undefined)[]): TurnMessage[] => list.filter((entry) => entry !== undefined);
  const [history, since] = [compact(turnMessages.slice(0, lastUserIndex)), compact(turnMessages.slice(lastUserIndex + 1))];
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  return {
    turn: {
      message,
      ...toImages(images),
      ...(history.length === 0 ? {} : { history }),
      ...(since.length === 0 ? {} : { since }),
      ...(system.length === 0 ? {} : { system: system.join('\n') }),
    },
    hasToolCalls: messages.some((entry) => entry.role === 'tool' || (entry.role === 'assistant' && entry.toolCalls !== undefined)),
  };
}

/**
 * Converts each message to a turn message at the same index, and a system message to undefined. A tool result gets its tool name from the
 * call.
 */
function toTurnMessages(messages: readonly RequestMessage[], field: 'messages' | 'input'): (TurnMessage | undefined)[] {
  const names = new Map<string, string>();
  return messages.map((message, index) => {
    if (message.role === 'system') return undefined;
    const { content: text } = message;
    if (message.role === 'user') return { role: 'user', text, ...toImages(message.images) };
    if (message.role === 'assistant') {
      for (const { callId, name } of message.toolCalls ?? []) names.set(callId, name);
      const { toolCalls, providerFields } = message;
      return {
        role: 'assistant',
        text,
        ...(toolCalls === undefined ? {} : { toolCalls }),
        ...(providerFields === undefined ? {} : { providerFields }),
      };
    }
    const name = names.get(message.callId);
    if (name === undefined) {
      const [path, noun] = field === 'messages' ? [`messages.${index}.tool_call_id`, 'tool call'] : ['input', 'function call'];
      throw createFieldRefusal(field, `Invalid request: ${path}: expected the id of an earlier ${noun}, got another string`);
    }
    return { role: 'tool', callId: message.callId, name, text, ...toImages(message.images) };
  });
}

function toImages(images: readonly string[] | undefined): { images?: string[] } {
  return images === undefined ? {} : { images: [...images] };
}

function createFieldRefusal(param: string, message: string): RefusalError {
  return new RefusalError({ status: 400, message, code: 'INVALID_ARGUMENT', param });
}

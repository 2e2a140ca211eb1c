import type { CallerToolCall, StatelessTurn, TurnMessage } from '@switchyard/contracts';
import { RefusalError } from '../../request/refusal.ts';

/** One message of a request, its content as text. */
export type Said =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string; toolCalls?: CallerToolCall[] | undefined }
  | { role: 'tool'; content: string; callId: string };

/** The messages of a request as a turn takes them. */
export interface Conversation {
  turn: Pick<StatelessTurn, 'message' | 'history' | 'since' | 'system'>;
  /** Whether tools of the caller's were called in it. */
  called: boolean;
}

/**
 * Splits the messages: the last user message is the message of the turn, earlier messages are history, and later messages (results of
 * the caller's tools, or the beginning of an answer) are continued. Throws if there is no user message.
 */
export function conversation(messages: readonly Said[], field: 'messages' | 'input' = 'messages'): Conversation {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const message = messages[asked]?.content;
  if (message === undefined) throw refused(field, `No user message found in ${field === 'messages' ? 'messages array' : field}`);
  if (message === '') throw refused(field, `Invalid request: ${field}: expected a user message that is not empty`);
  const said = inOrder(messages, field);
  const around = (of: readonly (TurnMessage | undefined)[]): TurnMessage[] => of.filter((one) => one !== undefined);
  const [history, since] = [around(said.slice(0, asked)), around(said.slice(asked + 1))];
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  return {
    turn: {
      message,
      ...(history.length === 0 ? {} : { history }),
      ...(since.length === 0 ? {} : { since }),
      ...(system.length === 0 ? {} : { system: system.join('\n') }),
    },
    called: messages.some((one) => one.role === 'tool' || (one.role === 'assistant' && one.toolCalls !== undefined)),
  };
}

/** Each message where it stood; instructions stand nowhere. A result learns the name of its tool from the call before it. */
function inOrder(messages: readonly Said[], field: 'messages' | 'input'): (TurnMessage | undefined)[] {
  const names = new Map<string, string>();
  return messages.map((one, at) => {
    if (one.role === 'system') return undefined;
    const { content: text } = one;
    if (one.role === 'user') return { role: 'user', text };
    if (one.role === 'assistant') {
      for (const { callId, name } of one.toolCalls ?? []) names.set(callId, name);
      return { role: 'assistant', text, ...(one.toolCalls === undefined ? {} : { toolCalls: one.toolCalls }) };
    }
    const name = names.get(one.callId);
    if (name === undefined) {
      const [path, what] = field === 'messages' ? [`messages.${at}.tool_call_id`, 'tool call'] : ['input', 'function call'];
      throw refused(field, `Invalid request: ${path}: expected the id of a ${what} that was made before, got another string`);
    }
    return { role: 'tool', callId: one.callId, name, text };
  });
}

function refused(param: string, message: string): RefusalError {
  return new RefusalError({ status: 400, message, code: 'INVALID_ARGUMENT', param });
}

import { hash } from 'node:crypto';
import type { CallerTools, Principal, StatelessTurn, TurnMessage } from '@switchyard/contracts';
import { toolCall, type ModelMessage } from '@switchyard/models';
import type { CallersToolBox } from '../agent-loop/toolbox.ts';

/** What the model of a turn that keeps nothing reads: all that its caller sent, in order, with a note before the message where there is one. It is the caller's to shorten. */
export function conversationOf({ history = [], message, since = [] }: StatelessTurn, note?: string): ModelMessage[] {
  const asked = [note, message].filter((text) => text !== undefined).map((text): ModelMessage => ({ role: 'user', text }));
  return [...history.map(toMessage), ...asked, ...since.map(toMessage)];
}

function toMessage(said: TurnMessage): ModelMessage {
  if (said.role === 'user') return { role: 'user', text: said.text };
  // A client has no word for a failure; what went wrong stands in the text.
  if (said.role === 'tool') return { role: 'tool', callId: said.callId, name: said.name, result: said.text, failed: false };
  const toolCalls = (said.toolCalls ?? []).map(({ callId, name, arguments: text }) => toolCall(callId, name, text));
  return { role: 'assistant', text: said.text, toolCalls };
}

/**
 * The name of a conversation whose caller keeps it and comes back with the results of its own tools: the same for each of its requests.
 * A caller may speak for many people, so what the first of them said is a part of it. Of a conversation whose beginning is cut off it is
 * another.
 */
export function conversationName(
  { history = [], message }: StatelessTurn,
  { tenant, client }: Pick<Principal, 'tenant' | 'client'>,
): string {
  return hash('sha256', JSON.stringify([tenant, client, history[0]?.text ?? message]), 'base64url');
}

const NO_PARAMETERS = { type: 'object', properties: {} };

/** The caller's own tools as the model is told of them. */
export function callersTools({ offered, choice, parallel = true }: CallerTools): CallersToolBox {
  return {
    specs: offered.map(({ description = '', parameters = NO_PARAMETERS, ...tool }) => ({ ...tool, description, parameters })),
    ...(choice === undefined ? {} : { choice }),
    parallel,
  };
}

import type { CallerTools, StatelessTurn, TurnMessage } from '@switchyard/contracts';
import { toolCall, type ModelMessage } from '@switchyard/models';
import type { CallersToolBox } from './tools.ts';

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

const NO_PARAMETERS = { type: 'object', properties: {} };

/** The caller's own tools as the model is told of them. */
export function callersTools({ offered, choice, parallel = true }: CallerTools): CallersToolBox {
  return {
    specs: offered.map(({ description = '', parameters = NO_PARAMETERS, ...tool }) => ({ ...tool, description, parameters })),
    ...(choice === undefined ? {} : { choice }),
    parallel,
  };
}

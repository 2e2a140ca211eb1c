import { hash } from 'node:crypto';
import type { CallerTools, Principal, StatelessTurn, TurnMessage } from '@switchyard/contracts';
import { toolCall, type ModelMessage } from '@switchyard/models';
import type { CallerToolBox } from '../agent-loop/toolbox.ts';

/**
 * Builds the prompt of a stateless turn from the caller's messages, with an optional note before the last one. The caller is responsible
 * for its length.
 */
export function buildConversation({ history = [], message, since = [] }: StatelessTurn, note?: string): ModelMessage[] {
  const asked = [note, message].filter((text) => text !== undefined).map((text): ModelMessage => ({ role: 'user', text }));
  return [...history.map(toMessage), ...asked, ...since.map(toMessage)];
}

function toMessage(said: TurnMessage): ModelMessage {
  if (said.role === 'user') return { role: 'user', text: said.text };
  // Clients cannot mark a tool result as failed; the text says what went wrong.
  if (said.role === 'tool') return { role: 'tool', callId: said.callId, name: said.name, result: said.text, failed: false };
  const toolCalls = (said.toolCalls ?? []).map(({ callId, name, arguments: text }) => toolCall(callId, name, text));
  return { role: 'assistant', text: said.text, toolCalls };
}

/**
 * Names a conversation that its caller stores, equally for each of its requests, for prompt caches. Includes the first message, because
 * one client may serve many users. A conversation whose beginning was cut off gets another name.
 */
export function conversationName(
  { history = [], message }: StatelessTurn,
  { tenant, client }: Pick<Principal, 'tenant' | 'client'>,
): string {
  return hash('sha256', JSON.stringify([tenant, client, history[0]?.text ?? message]), 'base64url');
}

const NO_PARAMETERS = { type: 'object', properties: {} };

/** Specifications of the caller's own tools. */
export function createCallerToolBox({ offered, choice, parallel = true }: CallerTools): CallerToolBox {
  return {
    specs: offered.map(({ description = '', parameters = NO_PARAMETERS, ...tool }) => ({ ...tool, description, parameters })),
    ...(choice === undefined ? {} : { choice }),
    parallel,
  };
}

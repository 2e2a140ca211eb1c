import { hash } from 'node:crypto';
import type { CallerTools, Principal, StatelessTurn, TurnMessage } from '@switchyard/contracts';
import { toolCall, type ModelMessage } from '@switchyard/models';
import type { CallerToolBox } from '../agent-loop/toolbox.ts';

/**
 * Builds the prompt of a stateless turn from the caller's messages, with an optional note before the last one. The caller is responsible
 * for its length.
 */
export function buildConversation({ history = [], message, since = [] }: StatelessTurn, note?: string): ModelMessage[] {
  const request = [note, message].filter((text) => text !== undefined).map((text): ModelMessage => ({ role: 'user', text }));
  return [...history.map(toMessage), ...request, ...since.map(toMessage)];
}

function toMessage(content: TurnMessage): ModelMessage {
  if (content.role === 'user') return { role: 'user', text: content.text };
  // Clients cannot mark a tool result as failed; the text says what went wrong.
  if (content.role === 'tool') return { role: 'tool', callId: content.callId, name: content.name, result: content.text, failed: false };
  const toolCalls = (content.toolCalls ?? []).map(({ callId, name, arguments: text }) => toolCall(callId, name, text));
  return { role: 'assistant', text: content.text, toolCalls };
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

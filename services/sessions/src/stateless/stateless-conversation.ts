import { hash } from 'node:crypto';
import type { CallerTools, Principal, StatelessTurn, TurnMessage } from '@switchyard/contracts';
import { toolCall, type ModelMessage } from '@switchyard/models';
import type { CallerToolBox } from '../tools/toolbox.ts';

/**
 * Builds the prompt of a stateless turn from the caller's messages, with an optional note before the last one. The caller is responsible
 * for its length.
 */
export function buildConversation(
  { history = [], message, images, since = [] }: StatelessTurn,
  provider: string,
  note?: string,
): ModelMessage[] {
  const request: ModelMessage[] = [...(note === undefined ? [] : [userMessage(note)]), userMessage(message, images)];
  const render = (content: TurnMessage): ModelMessage => toMessage(content, provider);
  return [...history.map(render), ...request, ...since.map(render)];
}

/** Renders a message. Provider fields belong to the provider of the requested model, because the caller got them from its last answer. */
function toMessage(content: TurnMessage, provider: string): ModelMessage {
  if (content.role === 'user') return userMessage(content.text, content.images);
  // Clients cannot mark a tool result as failed; the text says what went wrong.
  if (content.role === 'tool') {
    const { callId, name, text: result, images } = content;
    return { role: 'tool', callId, name, result, failed: false, ...(images === undefined ? {} : { images }) };
  }
  const { text: said, toolCalls: calls = [], providerFields: fields } = content;
  const toolCalls = calls.map(({ callId, name, arguments: text, providerFields }) => toolCall(callId, name, text, providerFields));
  const hasFields = fields !== undefined || calls.some((call) => call.providerFields !== undefined);
  return { role: 'assistant', text: said, toolCalls, ...(hasFields ? { providerFields: { provider, fields: fields ?? {} } } : {}) };
}

function userMessage(text: string, images?: readonly string[]): ModelMessage {
  return { role: 'user', text, ...(images === undefined ? {} : { images }) };
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

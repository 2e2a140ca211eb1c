import { createFieldError } from '../openai-body.ts';
import { describePart } from '../lenient-content.ts';
import { describeOmission } from '../request-warnings.ts';
import type { RequestMessage } from './completion-messages.ts';

/** Stands for a user message without text, which most providers refuse. */
const EMPTY_MESSAGE = '(empty message)';
/** Stands for the text of a user message with images only. */
const IMAGE_MESSAGE = '(image)';
/** Stands for the user turn that a client cut off. Providers refuse a conversation that begins with an answer. */
const MISSING_TURN = '(The earlier messages of this conversation were left out.)';

type Field = 'messages' | 'input';

/** Messages with a user turn, and what the client is told about the parts that were left out. */
export interface RepairedMessages {
  messages: RequestMessage[];
  warnings: string[];
}

/**
 * Repairs the messages of a lenient request, so that every provider accepts the conversation: clients cut histories at any place, and keep
 * the images of earlier turns. `earlier` are the messages before them, of stored responses. Throws for a last user message with parts that are neither text nor images, because the answer would be about them.
 */
export function repairMessages(
  messages: readonly RequestMessage[],
  field: Field,
  earlier: readonly RequestMessage[] = [],
): RepairedMessages {
  const warnings: string[] = [];
  checkLastUserMessage(messages, field);
  for (const { omitted = [] } of messages) for (const { type } of omitted) warnings.push(describeOmission(field, 'part', type));
  if (messages.some((message) => 'images' in message)) warnings.push(`${field}: images reach only models that take them`);
  const answered = dropUnknownResults(messages, {
    ids: listCallIds(earlier),
    onDrop: () => warnings.push(`${field}: tool result without its call left out`),
  });
  // A stored conversation has a user turn.
  const complete = earlier.length === 0 ? addUserTurn(answered) : answered;
  const filled = complete.map((message): RequestMessage =>
    message.role === 'user' && message.content === ''
      ? { ...message, content: message.images === undefined ? EMPTY_MESSAGE : IMAGE_MESSAGE }
      : message,
  );
  return { messages: filled, warnings };
}

function checkLastUserMessage(messages: readonly RequestMessage[], field: Field): void {
  const index = messages.findLastIndex(({ role }) => role === 'user');
  const [part] = messages[index]?.omitted ?? [];
  if (part === undefined) return;
  const problem = `expected a text part, got ${describePart(part)}`;
  // Several items of an input are one message, so their index is not known here.
  throw createFieldError(field, problem, field === 'messages' ? `messages.${index}.content.${part.index}` : field);
}

interface DropOptions {
  /** Ids of calls before the messages. */
  ids: readonly string[];
  onDrop: () => void;
}

function dropUnknownResults(messages: readonly RequestMessage[], { ids: earlierIds, onDrop }: DropOptions): RequestMessage[] {
  const ids = new Set(earlierIds);
  return messages.filter((message) => {
    for (const id of listCallIds([message])) ids.add(id);
    const isKept = message.role !== 'tool' || ids.has(message.callId);
    if (!isKept) onDrop();
    return isKept;
  });
}

function listCallIds(messages: readonly RequestMessage[]): string[] {
  return messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []).map(({ callId }) => callId) : []));
}

/** Adds the user turn that a conversation lacks. If there are only system messages, the last one is the request. */
function addUserTurn(messages: readonly RequestMessage[]): RequestMessage[] {
  const first = messages.findIndex(({ role }) => role !== 'system');
  if (first === -1)
    return messages.map((message, index) => (index === messages.length - 1 ? { role: 'user', content: message.content } : message));
  const opening = messages[first];
  const isCutRound = opening?.role === 'assistant' && opening.toolCalls !== undefined;
  if (!isCutRound && messages.some(({ role }) => role === 'user')) return [...messages];
  return [...messages.slice(0, first), { role: 'user', content: MISSING_TURN }, ...messages.slice(first)];
}

import { ServiceError } from '@switchyard/contracts';
import type { MessageImages, ModelMessage, ModelRequest } from '../model/model.ts';

const NOTE = '[image left out: only text is supported]';
const RESULT_IMAGES = 'The images of the tool results:';

/**
 * Prepares the images of a request for its model. Images of tool results become a user message after the results, because chat completions
 * have text results only. A model that takes text only gets a note for each image of an earlier message. Throws for one in the last user
 * message, because the answer would be about it.
 */
export function prepareImages(request: ModelRequest, takesImages: boolean): ModelRequest {
  const { messages, model } = request;
  if (!messages.some((message) => getImages(message) !== undefined)) return request;
  if (takesImages) return { ...request, messages: moveResultImages(messages) };
  const last = messages.findLast(({ role }) => role === 'user');
  if (last !== undefined && getImages(last) !== undefined) throw createTextOnlyError(`${model.provider}/${model.modelId}`);
  return { ...request, messages: messages.map(describeImages) };
}

function getImages(message: ModelMessage): MessageImages | undefined {
  return message.role === 'assistant' ? undefined : message.images;
}

/** Moves the images of consecutive tool results to one user message after them. */
function moveResultImages(messages: readonly ModelMessage[]): ModelMessage[] {
  let pending: string[] = [];
  const flush = (): ModelMessage[] => {
    const images = pending;
    pending = [];
    return images.length === 0 ? [] : [{ role: 'user', text: RESULT_IMAGES, images }];
  };
  const moved = messages.flatMap((message): ModelMessage[] => {
    if (message.role !== 'tool') return [...flush(), message];
    const { images = [], ...result } = message;
    pending.push(...images);
    return [result];
  });
  return [...moved, ...flush()];
}

function describeImages(message: ModelMessage): ModelMessage {
  const images = getImages(message);
  if (images === undefined || message.role === 'assistant') return message;
  const notes = images.map(() => NOTE);
  if (message.role === 'user') return { role: 'user', text: joinLines(message.text, notes) };
  const { images: _images, ...result } = message;
  return { ...result, result: joinLines(typeof result.result === 'string' ? result.result : JSON.stringify(result.result), notes) };
}

function joinLines(text: string, notes: readonly string[]): string {
  return [...(text === '' ? [] : [text]), ...notes].join('\n');
}

function createTextOnlyError(name: string): ServiceError {
  const message = `the last user message: expected text, got an image: model ${name} takes text only`;
  const issue = { path: 'messages', expected: 'text', received: 'an image', message };
  return new ServiceError('INVALID_ARGUMENT', `Invalid request: ${message}`, { details: { issues: [issue] } });
}

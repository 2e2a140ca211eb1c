import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelMessage, ModelRequest } from '../model/model.ts';
import { prepareImages } from './image-messages.ts';

const image = 'data:image/png;base64,AA==';
const note = '[image left out: only text is supported]';
const toolCall = { callId: 'c1', name: 'view', input: {}, text: '{}' };
const call: ModelMessage = { role: 'assistant', text: '', toolCalls: [toolCall] };
const result = (...images: string[]): ModelMessage => {
  const message = { role: 'tool' as const, callId: 'c1', name: 'view', result: 'seen', failed: false };
  return images.length === 0 ? message : { ...message, images };
};

function prepare(messages: ModelMessage[], takesImages: boolean): readonly ModelMessage[] {
  const { signal } = new AbortController();
  const request: ModelRequest = { model: { provider: 'lab', modelId: 'one' }, messages, signal, promptTimeoutMs: 1_000 };
  return prepareImages(request, takesImages).messages;
}

test('a model that takes images gets those of user messages', () => {
  const messages: ModelMessage[] = [{ role: 'user', text: 'look', images: [image] }];
  assert.deepEqual(prepare(messages, true), messages);
});

test('a model that takes images gets those of tool results in one user message after the results', () => {
  const images: ModelMessage = { role: 'user', text: 'The images of the tool results:', images: [image, image] };
  const answer: ModelMessage = { role: 'assistant', text: 'red' };
  assert.deepEqual(prepare([call, result(image), result(image), answer, call, result(image)], true), [
    call,
    result(),
    result(),
    images,
    answer,
    call,
    result(),
    { ...images, images: [image] },
  ]);
});

test('a model that takes text only gets a note for each earlier image', () => {
  const messages: ModelMessage[] = [
    { role: 'user', text: '', images: [image, image] },
    { role: 'assistant', text: 'red' },
    { role: 'user', text: 'and?' },
    call,
    result(image),
  ];
  assert.deepEqual(prepare(messages, false), [
    { role: 'user', text: `${note}\n${note}` },
    { role: 'assistant', text: 'red' },
    { role: 'user', text: 'and?' },
    call,
    { role: 'tool', callId: 'c1', name: 'view', result: `seen\n${note}`, failed: false },
  ]);
});

test('a model that takes text only refuses an image in the last user message', () => {
  assert.throws(() => prepare([{ role: 'user', text: 'look', images: [image] }], false), {
    code: 'INVALID_ARGUMENT',
    message: /expected text, got an image: model lab\/one takes text only/,
  });
});

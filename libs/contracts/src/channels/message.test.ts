import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseParams } from '../validation.ts';
import { messageMethods } from './message.ts';

const { params } = messageMethods['message.send'];
const message = { channel_type: 'telegram', channel_id: '678', text: 'Deploy?' };
const yes = { text: 'Yes', callback_data: 'deploy:yes' };
const no = { text: 'No' };

test('a flat list of buttons is one row, and rows stay rows', () => {
  assert.deepEqual(parseParams(params, { ...message, buttons: [yes, no] }).buttons, [[yes, no]]);
  assert.deepEqual(parseParams(params, { ...message, buttons: [[yes], [no]] }).buttons, [[yes], [no]]);
  assert.deepEqual(parseParams(params, { ...message, buttons: [] }).buttons, []);
  assert.throws(() => parseParams(params, { ...message, buttons: [yes, [no]] }), /^ServiceError: Invalid params: buttons/);
});

test('an effect is named, or named in an object', () => {
  assert.deepEqual(parseParams(params, { ...message, effects: ['spoiler', { type: 'silent' }] }).effects, ['spoiler', 'silent']);
  assert.throws(() => parseParams(params, { ...message, effects: ['glitter'] }), /^ServiceError: Invalid params: effects\.0/);
});

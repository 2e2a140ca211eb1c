import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseParams } from '../definition/validation.ts';
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

test('an effect is an object, or its type alone', () => {
  const effects = [{ type: 'spoiler' }, { type: 'silent' }];
  assert.deepEqual(parseParams(params, { ...message, effects: ['spoiler', { type: 'silent' }] }).effects, effects);
});

test('platform objects are accepted unchanged and limited in size only', () => {
  const button = { type: 'button', text: { type: 'plain_text', text: 'Yes' }, action_id: 'deploy' };
  const card = { title: 7, blocks: [{ type: 'divider' }], color: 'green' };
  const effect = { type: 'confetti', seconds: 3 };
  const sent = parseParams(params, { ...message, buttons: [button], cards: [card], effects: [effect] });
  assert.deepEqual([sent.buttons, sent.cards, sent.effects], [[[button]], [card], [effect]]);

  const large = { ...message, cards: [{ title: 'x'.repeat(65_536) }] };
  assert.throws(() => parseParams(params, large), /cards: expected at most 65536 characters of JSON, got more/);
  assert.throws(
    () => parseParams(params, { ...message, cards: Array.from({ length: 101 }, () => ({})) }),
    /cards: expected array of at most 100/,
  );
  assert.match(messageMethods['message.send'].description, /at most 100 of each and 65,536 characters/);
});

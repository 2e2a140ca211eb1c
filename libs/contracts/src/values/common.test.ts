import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallerId, SessionParts } from './common.ts';

test('an id that a caller chooses has 1 to 128 letters, digits and . _ : @ -', () => {
  for (const id of ['a', 'A-1._:@', 'x'.repeat(128)]) assert.equal(CallerId.parse(id), id);
  for (const id of ['', 'x'.repeat(129), 'a b', 'a/b', 'a%3A', 'é', 'a\n']) assert.equal(CallerId.safeParse(id).success, false, id);
});

test('the parts of a session are such ids', () => {
  for (const part of ['userId', 'channelId', 'peerId', 'guildId', 'threadId']) {
    assert.equal(SessionParts.safeParse({ [part]: 'web:main@42' }).success, true, part);
    assert.equal(SessionParts.safeParse({ [part]: 'web main' }).success, false, part);
  }
});

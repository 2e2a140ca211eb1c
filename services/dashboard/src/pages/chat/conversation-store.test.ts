import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeConversation, getConversation, renameConversation, resolveAddress, setLatest, type Exchange } from './conversation-store.ts';

const NONE = { agentId: '', sessionKey: '' };
const NAMED = { agentId: '', sessionKey: 'default:alice:gateway' };
const OTHER = { agentId: 'slow', sessionKey: 'default:alice:other' };
const EXCHANGE: Exchange = { message: 'hello', answer: '', state: 'streaming' };

test('a conversation that gets the key of its session keeps its messages, also those that arrive for its first address', () => {
  changeConversation(NONE, { exchanges: [EXCHANGE] });
  renameConversation(NONE, NAMED);
  changeConversation(NONE, { exchanges: [{ ...EXCHANGE, state: 'done' }] });
  assert.equal(getConversation(NAMED)?.exchanges[0]?.state, 'done');
  assert.deepEqual(resolveAddress(NONE), NAMED);
});

test('a page without an address continues the latest conversation, and an answer that arrives meanwhile stays in its own', () => {
  changeConversation(OTHER, { exchanges: [] });
  setLatest(OTHER);
  assert.deepEqual(resolveAddress(NONE), OTHER);
  changeConversation(NONE, { exchanges: [EXCHANGE, EXCHANGE] });
  assert.equal(getConversation(OTHER)?.exchanges.length, 0);
  assert.equal(getConversation(NAMED)?.exchanges.length, 2);
});

test('an address that is open in the page is not replaced by the latest conversation', () => {
  setLatest(OTHER);
  assert.deepEqual(resolveAddress(NAMED), NAMED);
});

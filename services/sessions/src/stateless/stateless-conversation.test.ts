import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StatelessTurn } from '@switchyard/contracts';
import { getTurnId } from '../sessions.fixture.ts';
import { conversationName } from './stateless-conversation.ts';

const ALICE = { tenant: 'default', client: 'alice' };

function turn(more: Partial<StatelessTurn>): StatelessTurn {
  return { turnId: getTurnId('one'), model: 'm', message: 'hello', ...more };
}

test('a conversation has the same name for all its requests, and no other conversation has it', () => {
  const name = conversationName(turn({}), ALICE);
  const later = turn({
    history: [
      { role: 'user', text: 'hello' },
      { role: 'assistant', text: 'hi' },
    ],
    message: 'and now?',
  });
  assert.equal(conversationName(later, ALICE), name);
  assert.equal(conversationName(turn({ since: [{ role: 'assistant', text: 'hi' }] }), ALICE), name);
  for (const other of [
    conversationName(turn({}), { ...ALICE, tenant: 'bobs' }),
    conversationName(turn({}), { ...ALICE, client: 'carol' }),
    conversationName(turn({ message: 'goodbye' }), ALICE),
    conversationName(turn({ history: [{ role: 'user', text: 'first' }] }), ALICE),
  ])
    assert.notEqual(other, name);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { CONVERSATION_BYTES, createLoadBudget, PAGE_BYTES, type LoadBudget } from './load-budget.ts';

const ann = { tenant: 'default', client: 'ann' };
const { signal } = new AbortController();

/** Takes bytes and records the name when they are granted. */
function take(budget: LoadBudget, granted: string[], [client, bytes]: readonly [string, number]): Promise<Disposable> {
  const taken = budget.take({ ...ann, client }, bytes, signal);
  void taken.then(() => granted.push(client));
  return taken;
}

test('a client loads four pages or one conversation at a time, and does not hold up others', async () => {
  const budget = createLoadBudget();
  const granted: string[] = [];
  const pages = Array.from({ length: 6 }, () => take(budget, granted, ['ann', PAGE_BYTES]));
  const conversation = take(budget, granted, ['bob', CONVERSATION_BYTES]);
  await setImmediate();
  assert.deepEqual(granted, ['ann', 'ann', 'ann', 'ann', 'bob']);
  (await pages[0]!)[Symbol.dispose]();
  await setImmediate();
  assert.equal(granted.filter((client) => client === 'ann').length, 5);
  (await conversation)[Symbol.dispose]();
});

test('all clients together load at most 64 MiB at a time, in the order of their requests', async () => {
  const budget = createLoadBudget();
  const granted: string[] = [];
  const conversations = ['a', 'b', 'c', 'd', 'e', 'f'].map((client) => take(budget, granted, [client, CONVERSATION_BYTES]));
  await setImmediate();
  assert.deepEqual(granted, ['a', 'b', 'c', 'd']);
  for (const conversation of conversations) (await conversation)[Symbol.dispose]();
  assert.deepEqual(granted, ['a', 'b', 'c', 'd', 'e', 'f']);
});

test('a cancelled request leaves the queue and gives nothing back twice', async () => {
  const budget = createLoadBudget();
  const cancelling = new AbortController();
  const first = await budget.take(ann, CONVERSATION_BYTES, signal);
  const second = budget.take(ann, PAGE_BYTES, cancelling.signal);
  cancelling.abort();
  await assert.rejects(second, { code: 'CANCELLED' });
  await assert.rejects(budget.take(ann, PAGE_BYTES, cancelling.signal), { code: 'CANCELLED' });
  first[Symbol.dispose]();
  (await budget.take(ann, CONVERSATION_BYTES, signal))[Symbol.dispose]();
});

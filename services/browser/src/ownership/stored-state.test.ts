import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createEncryptionKey } from '@switchyard/security';
import { openStore, type Collection } from '@switchyard/store';
import { tempDir } from '@switchyard/testkit';
import type { StorageState } from '../sessions/storage-state.ts';
import { createStoredStates, stateCollection, type StateDocument } from './stored-state.ts';

const KEY = { tenant: 'acme', browserId: 'agent:writer', session: 'one' };
const SECRET = randomBytes(16).toString('hex');

const createState = (value: string): StorageState => ({
  cookies: [{ name: 'session', value, domain: 'site.example' }],
  origins: [],
  databases: [],
  tabs: [],
  lost: [],
});

async function openStates(stack: AsyncDisposableStack): Promise<Collection<StateDocument>> {
  const folder = stack.use(await tempDir());
  const store = await openStore(`sqlite:${folder.path}`, { service: 'browser', strict: true });
  stack.defer(() => store.close());
  return (await store.open({ states: stateCollection })).states;
}

test('stores the first state of a session and each later one, encrypted', async () => {
  await using stack = new AsyncDisposableStack();
  const states = await openStates(stack);
  const key = createEncryptionKey('test');
  const stored = createStoredStates({ states, readKey: async () => key, now: () => 1 });
  assert.equal(await stored.load(KEY), undefined);
  assert.equal(await stored.save(KEY, createState(SECRET), 1), true);
  assert.deepEqual(await stored.load(KEY), createState(SECRET));
  assert.equal(await stored.save(KEY, createState('second'), 1), true);
  assert.deepEqual(await stored.load(KEY), createState('second'));
  assert.equal(await stored.load({ ...KEY, session: 'two' }), undefined);
  const { items } = await states.for(KEY).find({});
  assert.equal(items.length, 1);
  assert.doesNotMatch(JSON.stringify(items), new RegExp(`${SECRET}|second`));
});

test('rejects the state of an older lease holder, and stores nothing without a key', async () => {
  await using stack = new AsyncDisposableStack();
  const states = await openStates(stack);
  const key = createEncryptionKey('test');
  const stored = createStoredStates({ states, readKey: async () => key, now: () => 1 });
  assert.equal(await stored.save(KEY, createState('newer'), 2), true);
  assert.equal(await stored.save(KEY, createState('older'), 1), false);
  assert.deepEqual(await stored.load(KEY), createState('newer'));
  const keyless = createStoredStates({ states, readKey: async () => undefined, now: () => 1 });
  assert.equal(await keyless.save({ ...KEY, session: 'two' }, createState('x'), 1), false);
  await stored.remove(KEY);
  assert.equal((await states.for(KEY).find({})).items.length, 0);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, type TestService } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

const admin = principal({ scopes: ['*'] });
const KEY = 'default:test:gateway';

const sendMessage = async (app: TestService, message: string, userId?: string) =>
  (await app.bus.call('agent.execute', { message, ...(userId === undefined ? {} : { sessionKey: { userId } }) })).response;

/** Returns the label as each reading method reports it. */
async function render({ bus }: TestService) {
  const { sessions } = await bus.call('session.list', {});
  const [match] = await bus.call('session.search', { query: 'harbours' });
  const history = await bus.call('session.history', { session_key: KEY });
  const exported = await bus.call('session.export', { session_key: KEY });
  return [sessions.find(({ sessionKey }) => sessionKey === KEY)?.label, match?.label, history.label, exported.label];
}

test('sets, returns, changes and removes a label', async () => {
  await using app = await testSessions({ as: admin });
  await sendMessage(app, 'tell me of harbours');
  assert.deepEqual(await render(app), [undefined, undefined, undefined, undefined]);
  assert.match(await sendMessage(app, '/label'), /^This session has no label\. /);
  assert.equal(await sendMessage(app, '/label  The old\n\tharbours '), 'Label of this session: The old harbours');
  assert.deepEqual(
    await render(app),
    Array.from({ length: 4 }, () => 'The old harbours'),
  );
  assert.equal(await sendMessage(app, '/label'), 'Label of this session: The old harbours');
  assert.match(await sendMessage(app, `/label ${'x'.repeat(101)}`), /^A label has at most 100 characters; this one has 101\./);
  await sendMessage(app, '/label Others');
  assert.deepEqual(
    await render(app),
    Array.from({ length: 4 }, () => 'Others'),
  );
  await sendMessage(app, '/label -');
  assert.deepEqual(await render(app), [undefined, undefined, undefined, undefined]);
});

test('lists sessions by label, and a reset keeps the label', async () => {
  await using app = await testSessions({ as: admin });
  for (const userId of ['a', 'b', 'c']) await sendMessage(app, userId === 'c' ? 'hello' : '/label Harbours', userId);
  const labelled = async () =>
    (await app.bus.call('session.list', { label: 'Harbours' })).sessions.map(({ sessionKey }) => sessionKey).toSorted();
  assert.deepEqual(await labelled(), ['default:a:gateway', 'default:b:gateway']);
  await sendMessage(app, '/reset', 'a');
  await app.bus.call('session.reset', { session_key: 'default:b:gateway' });
  assert.deepEqual(await labelled(), ['default:a:gateway', 'default:b:gateway']);
  assert.equal((await app.bus.call('session.list', { label: 'Harbours', kind: 'dm' })).total, 2);
  assert.deepEqual((await app.bus.call('session.list', { label: 'harbour' })).sessions, []);
});

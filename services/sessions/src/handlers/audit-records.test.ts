import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

const KEY = 'default:test:gateway';

test('reading, changing or deleting a whole session writes an audit record with the session key only', async () => {
  await using app = await testSessions({ as: principal({ scopes: ['*'] }) });
  await app.bus.call('agent.execute', { message: 'hello' });
  const session = { session_key: KEY };
  await app.bus.call('session.export', session);
  await app.bus.call('session.compact', { key: KEY });
  await app.bus.call('session.reset', session);
  await app.bus.call('session.reset_conversation', session);
  await app.bus.call('session.delete', session);
  await assert.rejects(app.bus.call('session.export', session), { code: 'NOT_FOUND' });
  await app.bus.call('session.list', {});
  assert.deepEqual(
    app.audited.map(({ method, kind, target, outcome }) => [method, kind, target, outcome]),
    [
      ['session.export', 'read', session, 'success'],
      ['session.compact', 'mutate', { key: KEY }, 'success'],
      ['session.reset', 'destructive', session, 'success'],
      ['session.reset_conversation', 'destructive', session, 'success'],
      ['session.delete', 'destructive', session, 'success'],
      ['session.export', 'read', session, 'failure'],
    ],
  );
});

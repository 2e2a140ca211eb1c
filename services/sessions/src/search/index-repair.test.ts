import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { createLogger } from '@switchyard/telemetry';
import { principal, tempDir, type TestService } from '@switchyard/testkit';
import { putAgent, testSessions } from '../sessions.fixture.ts';

const admin = principal({ scopes: ['*'] });
const elsewhere = principal({ tenant: 'acme', client: 'zoe', scopes: ['*'] });

/** Where the index of a tenant is kept. */
function fileOf(data: string, tenant = 'default'): string {
  return join(data, 'index', 'sessions', createHash('sha256').update(tenant).digest('hex').slice(0, 32), '1', 'index.db');
}

async function say(app: TestService, userId: string, ...messages: string[]): Promise<void> {
  for (const message of messages) await app.bus.call('agent.execute', { message, sessionKey: { userId } });
}

async function foundIn(app: TestService, query: string): Promise<string[]> {
  return (await app.bus.call('session.search', { query })).map(({ sessionKey }) => sessionKey).toSorted();
}

/** A log, and what it says when an index is whole again. */
function listening() {
  const { promise: healed, resolve } = Promise.withResolvers<number>();
  const write = (line: string): void => {
    if (line.includes('has them again')) resolve(Number(JSON.parse(line).sessions));
  };
  return { log: createLogger({ level: 'warn', destination: { write } }), healed };
}

test('what an index has lost of conversations that go on no more is found again, and nothing of another tenant is in it', async () => {
  await using data = await tempDir();
  {
    await using app = await testSessions({ as: admin, data: data.path });
    await putAgent(app.host.bus, 'default', { tenant: 'acme' });
    await say(app, 'ann', 'the first harbour', 'a crane', 'the last pilot');
    await say(app, 'bob', 'a lantern');
    await say(app, 'eve', 'a harbour too');
    await app.bus.as(elsewhere).call('agent.execute', { message: 'the harbour of others' });
    assert.equal((await foundIn(app, 'harbour')).length, 2);
    assert.equal((await app.bus.as(elsewhere).call('session.search', { query: 'harbour' })).length, 1);
  }
  const theirs = readFileSync(fileOf(data.path, 'acme'));
  {
    using db = new DatabaseSync(fileOf(data.path));
    // Of one conversation the first turn, of another everything.
    const lost = `SELECT row FROM entries WHERE session = 'default:bob:gateway' OR id LIKE '% 1 % default:ann:gateway'`;
    db.exec(`CREATE TEMP TABLE lost AS ${lost}; DELETE FROM words WHERE rowid IN lost; DELETE FROM entries WHERE row IN lost`);
    // As if nobody had said anything for long: what is new is read again anyway.
    db.exec(`UPDATE meta SET value = value + 600000 WHERE name = 'position'`);
  }
  const { log, healed } = listening();
  await using app = await testSessions({ as: admin, data: data.path, log });
  assert.deepEqual(await foundIn(app, 'lantern'), [], 'it is lost');
  assert.equal(await healed, 2);
  assert.deepEqual(await foundIn(app, 'lantern'), ['default:bob:gateway']);
  assert.deepEqual(await foundIn(app, 'harbour'), ['default:ann:gateway', 'default:eve:gateway']);
  assert.deepEqual(await foundIn(app, 'pilot'), ['default:ann:gateway']);
  assert.deepEqual(readFileSync(fileOf(data.path, 'acme')), theirs);
});

test('an index whose pages are damaged is thrown away by the search that reads them, which finds all', async () => {
  await using data = await tempDir();
  {
    await using app = await testSessions({ as: admin, data: data.path });
    await say(app, 'ann', 'the tide', 'and again');
    assert.deepEqual(await foundIn(app, 'tide'), ['default:ann:gateway']);
  }
  {
    // Nothing of it is read before somebody searches.
    using db = new DatabaseSync(fileOf(data.path), { defensive: false });
    db.exec("UPDATE words_data SET block = x'ff' WHERE id > 10");
  }
  await using app = await testSessions({ as: admin, data: data.path });
  assert.deepEqual(await foundIn(app, 'tide'), ['default:ann:gateway']);
  await say(app, 'bob', 'a tide');
  assert.deepEqual(await foundIn(app, 'tide'), ['default:ann:gateway', 'default:bob:gateway']);
});

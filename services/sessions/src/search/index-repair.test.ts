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

/** Path of a tenant's index. */
function getFile(data: string, tenant = 'default'): string {
  return join(data, 'index', 'sessions', createHash('sha256').update(tenant).digest('hex').slice(0, 32), '1', 'index.db');
}

async function sendMessage(app: TestService, userId: string, ...messages: string[]): Promise<void> {
  for (const message of messages) await app.bus.call('agent.execute', { message, sessionKey: { userId } });
}

async function foundIn(app: TestService, query: string): Promise<string[]> {
  return (await app.bus.call('session.search', { query })).map(({ sessionKey }) => sessionKey).toSorted();
}

/** A logger, and a promise of the log entry that reports the repair. */
function listening() {
  const { promise: healed, resolve } = Promise.withResolvers<number>();
  const write = (line: string): void => {
    if (line.includes('restored missing words')) resolve(Number(JSON.parse(line).sessions));
  };
  return { log: createLogger({ level: 'warn', destination: { write } }), healed };
}

test('restores the lost entries of unchanged conversations and leaves the index of another tenant unchanged', async () => {
  await using data = await tempDir();
  {
    await using app = await testSessions({ as: admin, data: data.path });
    await putAgent(app.host.bus, 'default', { tenant: 'acme' });
    await sendMessage(app, 'ann', 'the first harbour', 'a crane', 'the last pilot');
    await sendMessage(app, 'bob', 'a lantern');
    await sendMessage(app, 'eve', 'a harbour too');
    await app.bus.as(elsewhere).call('agent.execute', { message: 'the harbour of others' });
    assert.equal((await foundIn(app, 'harbour')).length, 2);
    assert.equal((await app.bus.as(elsewhere).call('session.search', { query: 'harbour' })).length, 1);
  }
  const theirs = readFileSync(getFile(data.path, 'acme'));
  {
    using db = new DatabaseSync(getFile(data.path));
    // Deletes the first turn of one conversation and all turns of another.
    const lost = `SELECT row FROM entries WHERE session = 'default:bob:gateway' OR id LIKE '% 1 % default:ann:gateway'`;
    db.exec(`CREATE TEMP TABLE lost AS ${lost}; DELETE FROM words WHERE rowid IN lost; DELETE FROM entries WHERE row IN lost`);
    // Moves the position forward, as after a long idle time. New entries are indexed anyway.
    db.exec(`UPDATE meta SET value = value + 600000 WHERE name = 'position'`);
  }
  const { log, healed } = listening();
  await using app = await testSessions({ as: admin, data: data.path, log });
  assert.deepEqual(await foundIn(app, 'lantern'), [], 'it is lost');
  assert.equal(await healed, 2);
  assert.deepEqual(await foundIn(app, 'lantern'), ['default:bob:gateway']);
  assert.deepEqual(await foundIn(app, 'harbour'), ['default:ann:gateway', 'default:eve:gateway']);
  assert.deepEqual(await foundIn(app, 'pilot'), ['default:ann:gateway']);
  assert.deepEqual(readFileSync(getFile(data.path, 'acme')), theirs);
});

test('a search discards an index with damaged pages, rebuilds it and returns all hits', async () => {
  await using data = await tempDir();
  {
    await using app = await testSessions({ as: admin, data: data.path });
    await sendMessage(app, 'ann', 'the tide', 'and again');
    assert.deepEqual(await foundIn(app, 'tide'), ['default:ann:gateway']);
  }
  {
    // The index is not read before the first search.
    using db = new DatabaseSync(getFile(data.path), { defensive: false });
    db.exec("UPDATE words_data SET block = x'ff' WHERE id > 10");
  }
  await using app = await testSessions({ as: admin, data: data.path });
  assert.deepEqual(await foundIn(app, 'tide'), ['default:ann:gateway']);
  await sendMessage(app, 'bob', 'a tide');
  assert.deepEqual(await foundIn(app, 'tide'), ['default:ann:gateway', 'default:bob:gateway']);
});

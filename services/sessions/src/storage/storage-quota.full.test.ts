import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Bus } from '@switchyard/bus';
import { principal, startMongo, type MongoServer } from '@switchyard/testkit';
import { createResponse, prepareResponse, startSessions } from '../response-chain/response-chain.fixture.ts';
import { ended } from '../sessions.fixture.ts';
import { countStored } from './storage-recount.ts';

const LIMIT = 16_777_216;
const TENANT = { tenant: 'default' };
const { client } = principal();

let mongo: MongoServer;
before(async () => (mongo = await startMongo()));
after(() => mongo.stop());

const limits = (maxClientBytes: number, maxTenantBytes: number) => ({
  settings: { security: { storage: { maxClientBytes, maxTenantBytes } } },
  timing: { storageSyncMs: 5 },
});

type Sessions = Awaited<ReturnType<typeof startSessions>>;

const getBytes = async ({ data }: Sessions, id: string): Promise<number | undefined> => (await data.usage.for(TENANT).get(id))?.bytes;

/** Waits until the counters equal a count of the documents. */
async function untilCounted(sessions: Sessions): Promise<number> {
  for (;;) {
    // The reads of SQLite need no timer, so they would not let the service run.
    await setImmediate();
    const [{ tenant, clients }, ofTenant, ofClient] = [
      await countStored(sessions.data, 'default'),
      await getBytes(sessions, 'tenant'),
      await getBytes(sessions, `client ${client}`),
    ];
    if (ofTenant === tenant && ofClient === (clients.get(client) ?? 0)) return tenant;
  }
}

/** Writes wrong counts and waits until a recount has corrected them. */
async function recount(sessions: Sessions, bytes: number): Promise<void> {
  const usage = sessions.data.usage.for(TENANT);
  for (const id of ['tenant', `client ${client}`]) await usage.update({ id }, { set: { bytes } });
  await usage.update({ id: 'tenant' }, { set: { recountedAt: 0 } });
  await untilCounted(sessions);
}

/** Creates a response and waits until it is counted. */
async function startCounting(sessions: Sessions): Promise<string> {
  const turnId = await createResponse(sessions.app.bus, { message: 'x'.repeat(20_000) });
  await untilCounted(sessions);
  return turnId;
}

/** Repeats the call until it is refused, and returns the error. */
async function untilRefused(call: () => Promise<unknown>): Promise<{ code?: string; message?: string; details?: { reason?: string } }> {
  for (;;) {
    try {
      await call();
    } catch (error) {
      return error as { code?: string };
    }
  }
}

/** Repeats the call until the service has read the new counts. */
async function untilAccepted(call: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await call();
      return;
    } catch (error) {
      assert.equal((error as { details?: { reason?: string } }).details?.reason, 'STORAGE_QUOTA_EXCEEDED');
    }
  }
}

const execute = (bus: Bus) => bus.call('agent.execute', { message: 'hello' });

for (const name of ['sqlite', 'mongodb']) {
  const start = (options: Parameters<typeof startSessions>[1]) => startSessions(name === 'mongodb' ? mongo : undefined, options);

  describe(`storage quota on ${name}`, () => {
    test('counts sessions and responses as a recount does, and a deletion gives the room back', async () => {
      await using sessions = await start(limits(LIMIT, LIMIT));
      const { bus } = sessions.app;
      const first = await startCounting(sessions);
      const second = await createResponse(bus, { message: 'y'.repeat(100), previous: first });
      const keys = [];
      for (let turns = 0; turns < 3; turns += 1) await execute(bus);
      for (const { sessionKey } of (await bus.call('session.list', {})).sessions) keys.push(sessionKey);
      assert.ok((await untilCounted(sessions)) > 80_000);
      for (const turnId of [first, second]) await bus.call('responses.delete', { turnId });
      for (const key of keys) await bus.call('session.delete', { session_key: key });
      assert.equal(await untilCounted(sessions), 0);
    });

    test('counts tool results and summaries, and gives them back with their session', async () => {
      await using sessions = await start({
        ...limits(LIMIT, LIMIT),
        agents: { default: { contextEngine: { freshTailTurns: 1 } }, scripted: { model: 'dev/scripted' } },
      });
      const { bus } = sessions.app;
      for (let turns = 0; turns < 3; turns += 1) await execute(bus);
      const { sessionKey = '' } = await bus.call('agent.execute', { message: 'x'.repeat(30_000) });
      const before = await untilCounted(sessions);
      const message = JSON.stringify([{ tool: { name: 'session_history', input: { session_key: sessionKey } } }, { text: 'done' }]);
      const answer = await bus.call('agent.execute', { agentId: 'scripted', message, sessionKey: { userId: 'reader' } });
      const withResult = await untilCounted(sessions);
      assert.ok(withResult > before + 60_000, `${before} and then ${withResult}`);
      await bus.call('session.compact', { key: sessionKey });
      const { extraChars = 0 } = (await sessions.data.sessions.for(TENANT).get(sessionKey)) ?? assert.fail();
      assert.ok(extraChars > 0);
      assert.equal(await untilCounted(sessions), withResult + extraChars);
      for (const key of [sessionKey, answer.sessionKey ?? '']) await bus.call('session.delete', { session_key: key });
      assert.equal(await untilCounted(sessions), 0);
    });

    test('gives the room of a conversation back that is reset because it expired', async () => {
      const session = { resetPolicy: { mode: 'idle', idleTimeoutMs: 1, sweepIntervalMs: 3_600_000 } };
      await using sessions = await start({ ...limits(LIMIT, LIMIT), agents: { default: { session } } });
      const turn = () => sessions.app.bus.call('agent.execute', { message: 'x'.repeat(50_000) });
      const { sessionKey = '' } = await turn();
      const { epoch } = (await sessions.data.sessions.for(TENANT).get(sessionKey)) ?? assert.fail();
      const before = await untilCounted(sessions);
      await sessions.data.sessions.for(TENANT).update({ key: sessionKey }, { set: { updatedAt: 1 } });
      await turn();
      assert.notEqual((await sessions.data.sessions.for(TENANT).get(sessionKey))?.epoch, epoch);
      assert.equal(await untilCounted(sessions), before);
    });

    test('a response whose key is used again after a failure leaves no texts', async () => {
      await using sessions = await start({ ...limits(LIMIT, LIMIT), agents: { default: { model: 'dev/scripted' } } });
      const { bus } = sessions.app;
      const text = 'x'.repeat(20_000);
      const failing = await prepareResponse(bus, { message: JSON.stringify([{ text }, { error: { status: 503, message: 'away' } }]) });
      await bus.call('turns.once', failing);
      assert.equal((await ended(bus, failing.turnId)).state, 'failed');
      const { turnId, message } = await prepareResponse(bus, { message: JSON.stringify([{ text: 'b' }]) });
      await bus.call('turns.once', { ...failing, turnId, message });
      await ended(bus, turnId);
      assert.equal(await sessions.data.bodies.for(TENANT).count({ turnId: failing.turnId }), 0);
      assert.ok((await untilCounted(sessions)) < 20_000);
    });

    test('refuses responses and turns of a client at its quota, and names the quota and the remedy', async () => {
      await using sessions = await start(limits(LIMIT, 2 * LIMIT));
      const { bus } = sessions.app;
      await startCounting(sessions);
      await sessions.data.usage.for(TENANT).update({ id: `client ${client}` }, { inc: { bytes: LIMIT } });
      const expected = new RegExp(
        `The client ${client} has used its storage quota of ${LIMIT} bytes. Delete sessions or responses, or raise security.storage.maxClientBytes.`,
      );
      for (const call of [() => createResponse(bus), () => execute(bus)]) {
        const { code, message = '', details } = await untilRefused(call);
        assert.deepEqual([code, details?.reason], ['RESOURCE_EXHAUSTED', 'STORAGE_QUOTA_EXCEEDED']);
        assert.match(message, expected);
      }
      await execute(sessions.app.bus.as(principal({ client: 'other' })));
    });

    test('refuses all clients of a tenant at its quota, and no other tenant', async () => {
      await using sessions = await start(limits(LIMIT, LIMIT));
      const { bus } = sessions.app;
      await startCounting(sessions);
      await sessions.data.usage.for(TENANT).update({ id: 'tenant' }, { inc: { bytes: LIMIT } });
      const other = bus.as(principal({ client: 'other' }));
      assert.match((await untilRefused(() => execute(other))).message ?? '', /tenant default .*security.storage.maxTenantBytes/);
      // The quota is checked before the model, which this tenant does not have.
      await assert.rejects(createResponse(bus.as(principal({ tenant: 'elsewhere' }))), { code: 'NOT_FOUND' });
    });

    test('a recount corrects a count that a crash lost', async () => {
      await using sessions = await start(limits(LIMIT, LIMIT));
      const { bus } = sessions.app;
      await startCounting(sessions);
      const usage = sessions.data.usage.for(TENANT);
      for (const id of ['tenant', `client ${client}`]) await usage.update({ id }, { set: { bytes: 2 * LIMIT } });
      await untilRefused(() => createResponse(bus));
      await recount(sessions, 2 * LIMIT);
      await untilAccepted(() => createResponse(bus));
    });
  });
}

test('a client stores its quota and at most one response more', async () => {
  await using sessions = await startSessions(undefined, limits(LIMIT, 2 * LIMIT));
  const { bus } = sessions.app;
  await startCounting(sessions);
  const refused = await untilRefused(() => createResponse(bus, { message: 'x'.repeat(1_000_000) }));
  assert.equal(refused.details?.reason, 'STORAGE_QUOTA_EXCEEDED');
  const stored = await untilCounted(sessions);
  assert.ok(stored >= LIMIT && stored < LIMIT + 3_000_000, `${stored}`);
});

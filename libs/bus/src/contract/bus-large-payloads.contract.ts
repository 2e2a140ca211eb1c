import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { INLINE_BYTES, ServiceError, contracts } from '@switchyard/contracts';
import type { Bus, Handlers, Reply } from '../client/bus.ts';
import { EMPTY } from '../wire/encoding.ts';
import {
  aborted,
  alice,
  callable,
  delta,
  FINAL,
  forward,
  REPEATABLE,
  result,
  turn,
  to,
  version,
  type BusFixture,
} from './bus-fixture.contract.ts';
import { joinHeaders } from '../wire/headers.ts';
import { collectPayload, formatPayloadHeader, type LargePayload } from '../payloads/large-payloads.ts';
import { createPayloadStore, type PayloadStore } from './large-payloads.fixture.ts';
import { encodePrincipal } from '../wire/principal-header.ts';

type Sessions = Handlers<typeof contracts.sessions>;

const LONG = 'ö'.repeat(100_000);
const EXPORT = '{"session_key":"acme:alice:gateway"}';
const MiB = 1_048_576;

const exported = (...contents: string[]) => ({
  sessionKey: 'acme:alice:gateway',
  messages: contents.map((content) => ({ role: 'user', content })),
  metadata: {},
  messageCount: contents.length,
  createdAt: 1,
  updatedAt: 2,
});
const answered = (response: string) => ({ ...result, response });

interface SessionsFixture {
  caller: Bus;
  shelf: PayloadStore;
  /** Size of the largest payload that was sent on the bus. */
  largest: () => number;
}

/** Payloads above the message limit, which go through the payload store. */
export function largeContract({ withBuses }: BusFixture): void {
  async function withSessions(handlers: Sessions, run: (input: SessionsFixture) => Promise<void>): Promise<void> {
    await withBuses(async (join, raw) => {
      const shelf = createPayloadStore();
      const options = { large: shelf, inlineBytes: INLINE_BYTES };
      const tap = await raw();
      let largest = 0;
      tap.subscribe('>', ({ data }) => void (largest = Math.max(largest, data.length)));
      await tap.flush();
      const owner = await join({ service: 'sessions', ...options });
      await owner.serve(contracts.sessions, handlers, { version });
      await run({ caller: await join({ service: 'gateway', principal: alice, ...options }), shelf, largest: () => largest });
    });
  }

  test('a call is not reported as silent while its params are uploaded', async () => {
    await withBuses(async (join) => {
      const shelf = createPayloadStore();
      shelf.before = () => sleep(300);
      const options = { large: shelf, inlineBytes: INLINE_BYTES, calls: { aliveMs: 20, silenceMs: 100 } };
      const owner = await join({ service: 'sessions', ...options });
      await owner.serve(contracts.sessions, { 'agent.execute': ({ message }) => answered(`${message.length}`) }, { version });
      const caller = await join({ service: 'gateway', principal: alice, ...options });
      assert.deepEqual(await caller.call('agent.execute', { message: LONG }), answered(`${LONG.length}`));
    });
  });

  test('params and results above 64 KiB go through the payload store, which is empty afterwards', async () => {
    await withSessions({ 'agent.execute': ({ message }) => answered(`${message}!`) }, async ({ caller, shelf, largest }) => {
      assert.deepEqual(await caller.call('agent.execute', { message: LONG }), answered(`${LONG}!`));
      assert.equal(shelf.sizes.length, 2);
      assert.ok(largest() <= INLINE_BYTES, `${largest()} bytes crossed`);
      assert.equal(shelf.kept.size, 0);
      assert.deepEqual(shelf.ttls, [600_000, 900_000]);
    });
  });

  test('payloads of up to the inline limit stay in the message', async () => {
    await withSessions({ 'agent.execute': ({ message }) => answered(message) }, async ({ caller, shelf, largest }) => {
      const around = JSON.stringify({ message: '' }).length;
      await caller.call('agent.execute', { message: 'x'.repeat(INLINE_BYTES - JSON.stringify(answered('')).length) });
      assert.deepEqual(shelf.sizes, []);
      await caller.call('agent.execute', { message: 'x'.repeat(INLINE_BYTES - around) });
      assert.deepEqual(shelf.sizes, [JSON.stringify(answered('')).length + INLINE_BYTES - around]);
      assert.ok(largest() <= INLINE_BYTES);
      await caller.call('agent.execute', { message: 'x'.repeat(INLINE_BYTES - around + 1) });
      assert.equal(shelf.sizes[1], INLINE_BYTES + 1);
    });
  });

  test('forward returns a large result in chunks, and call rejects one above the message limit', async () => {
    const whole = exported(...Array.from({ length: 10 }, () => 'x'.repeat(MiB - 1)));
    await withSessions({ 'session.export': () => whole }, async ({ caller, shelf, largest }) => {
      const { large } = await forward(caller, 'session.export', EXPORT);
      assert.equal(large?.size, JSON.stringify(whole).length);
      const pieces: Uint8Array[] = [];
      for await (const piece of large.chunks(new AbortController().signal)) pieces.push(piece);
      assert.ok(pieces.length > 100);
      assert.deepEqual(JSON.parse(Buffer.concat(pieces).toString()), whole);
      await assert.rejects(caller.call('session.export', { session_key: whole.sessionKey }), {
        code: 'FAILED_PRECONDITION',
        message:
          /^The result of session\.export is too large for this request: \d+ bytes, at most 8388608\. Send the call alone by POST \/rpc/,
        details: { reason: 'PAYLOAD_TOO_LARGE' },
      });
      assert.equal(shelf.kept.size, 0, 'the rejected result is deleted');
      assert.ok(largest() <= INLINE_BYTES, `${largest()} bytes crossed`);
    });
  });

  test('a discarded or partly read large result is deleted', async () => {
    await withSessions({ 'session.export': () => exported(LONG) }, async ({ caller, shelf }) => {
      const { large } = await forward(caller, 'session.export', EXPORT);
      large?.discard();
      assert.equal(shelf.kept.size, 0);
      const again = (await forward(caller, 'session.export', EXPORT)).large as LargePayload;
      for await (const piece of again.chunks(new AbortController().signal)) {
        assert.ok(piece.length > 0);
        break;
      }
      assert.equal(shelf.kept.size, 0);
    });
  });

  test('a lost result has an unknown outcome, lost params do not', async () => {
    const handlers: Sessions = { 'session.export': () => exported(LONG), 'agent.execute': () => answered(LONG) };
    await withSessions(handlers, async ({ caller, shelf }) => {
      const lose = (large: LargePayload | undefined): Promise<unknown> => {
        shelf.kept.clear();
        const signal = new AbortController().signal;
        return collectPayload('It', large as LargePayload, MiB, signal).catch((error: unknown) => error);
      };
      const lost = (await lose((await forward(caller, 'session.export', EXPORT)).large)) as ServiceError;
      assert.deepEqual([lost.code, lost.details], ['UNAVAILABLE', { reason: 'PAYLOAD_LOST', ...REPEATABLE }]);
      const turned = (await lose((await forward(caller, 'agent.execute', '{"message":"hi"}')).large)) as ServiceError;
      assert.deepEqual(turned.details, { reason: 'PAYLOAD_LOST', ...FINAL });

      const put = shelf.put.bind(shelf);
      shelf.put = async (tenant, ...rest) => {
        const id = await put(tenant, ...rest);
        shelf.kept.clear();
        return id;
      };
      await assert.rejects(caller.call('agent.execute', { message: LONG }), (error: ServiceError) => {
        assert.deepEqual([error.code, error.details, error.retryable], ['UNAVAILABLE', { reason: 'PAYLOAD_LOST' }, true]);
        return true;
      });
    });
  });

  test('store errors reach the caller, and internal store errors become PAYLOAD_LOST', async () => {
    let ran = 0;
    await withSessions({ 'agent.execute': () => answered(String(ran++)) }, async ({ caller, shelf }) => {
      const failing = (error: Error): Promise<unknown> => {
        shelf.before = async () => {
          throw error;
        };
        return caller.call('agent.execute', { message: LONG }).then(
          () => 'it worked',
          ({ code, details }: ServiceError) => [code, details.reason],
        );
      };
      const full = new ServiceError('RESOURCE_EXHAUSTED', 'no room', { details: { reason: 'STORE_FULL', retryable: false } });
      assert.deepEqual(await failing(full), ['RESOURCE_EXHAUSTED', 'STORE_FULL']);
      assert.deepEqual(await failing(new ServiceError('UNAUTHENTICATED', 'no token')), ['UNAVAILABLE', 'PAYLOAD_LOST']);
      assert.deepEqual(await failing(new TypeError('a bug')), ['UNAVAILABLE', 'PAYLOAD_LOST']);
      assert.equal(ran, 0);
    });
  });

  test('a cancellation during an upload sends neither request nor result', async () => {
    const held = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    let ran = 0;
    const handlers: Sessions = {
      'agent.execute': () => answered(String(ran++)),
      'session.export': (_params, { signal }) => {
        void aborted(signal).then(stopped.resolve);
        return exported(LONG);
      },
    };
    await withSessions(handlers, async ({ caller, shelf }) => {
      shelf.before = () => held.promise;
      const leaving = new AbortController();
      const pending = caller.call('agent.execute', { message: LONG }, { signal: leaving.signal });
      leaving.abort();
      await assert.rejects(pending, { code: 'CANCELLED' });
      const writing = Promise.withResolvers<void>();
      shelf.before = () => {
        writing.resolve();
        return held.promise;
      };
      const away = new AbortController();
      const answer = caller.call('session.export', { session_key: 'k' }, { signal: away.signal });
      await writing.promise;
      away.abort();
      await assert.rejects(answer, { code: 'CANCELLED' });
      await stopped.promise;
      held.resolve();
      await caller.flush();
      assert.deepEqual([ran, shelf.kept.size], [0, 0]);
    });
  });

  test('a payload reference is limited to its tenant and ignored inside params', async () => {
    await withBuses(async (join, raw) => {
      const shelf = createPayloadStore();
      const options = { large: shelf, inlineBytes: INLINE_BYTES };
      const messages: string[] = [];
      const owner = await join({ service: 'sessions', ...options });
      const handler: Sessions['agent.execute'] = ({ message }) => answered(String(messages.push(message)));
      await owner.serve(contracts.sessions, { 'agent.execute': handler }, { version });
      const bytes = Buffer.from(JSON.stringify({ message: LONG }));
      const signal = new AbortController().signal;
      const id = await shelf.put('acme', bytes, { ttlMs: 1_000, signal });

      const { subject } = callable('agent.execute');
      const wire = await raw();
      const receivedMessage = Promise.withResolvers<string>();
      wire.subscribe(`${wire.inbox}.one`, ({ data }) => receivedMessage.resolve(Buffer.from(data).toString()));
      await wire.flush();
      const headers = joinHeaders(encodePrincipal({ ...alice, tenant: 'other' }), formatPayloadHeader(id, bytes.length));
      wire.publish({ subject, data: EMPTY, reply: `${wire.inbox}.one`, headers });
      assert.match(await receivedMessage.promise, /"PAYLOAD_LOST"/);
      assert.equal(shelf.kept.size, 1, 'the payload stays for its own tenant');

      const caller = await join({ service: 'gateway', principal: alice, ...options });
      const ref = JSON.stringify({ id, size: bytes.length, sha256: '0'.repeat(64), contentType: 'a/b', expiresAt: 9 });
      await caller.call('agent.execute', { message: ref });
      await caller.call('agent.execute', { message: `Sy-Blob: ${id} ${bytes.length}` });
      assert.deepEqual(messages, [ref, `Sy-Blob: ${id} ${bytes.length}`]);
      const { error } = await forward(caller, 'agent.execute', ref);
      assert.equal(error?.code, 'INVALID_ARGUMENT');
    });
  });

  test('a stream supports a large result and rejects large chunks', async () => {
    const handlers: Sessions = {
      'turns.run': async function* ({ message }) {
        yield delta(0);
        if (message === 'long') yield delta(1, LONG);
        return answered(message);
      },
    };
    await withSessions(handlers, async ({ caller, shelf, largest }) => {
      const stream = caller.stream('turns.run', { ...turn, message: LONG });
      assert.deepEqual((await stream.next()).value, delta(0));
      assert.deepEqual((await stream.next()).value, answered(LONG));
      assert.deepEqual([shelf.sizes.length, shelf.kept.size], [2, 0]);
      assert.ok(largest() <= INLINE_BYTES, `${largest()} bytes crossed`);
      const long = caller.stream('turns.run', { ...turn, message: 'long' });
      await long.next();
      await assert.rejects(long.next(), { code: 'FAILED_PRECONDITION', details: { reason: 'PAYLOAD_TOO_LARGE' } });
    });
  });

  test('rejects large params and results that the contract does not declare', async () => {
    await withBuses(async (join) => {
      const shelf = createPayloadStore();
      const options = { large: shelf, inlineBytes: INLINE_BYTES, checkResults: false };
      const owner = await join({ service: 'secrets', ...options });
      let requestCount = 0;
      const resolve = () => ({ value: LONG.slice(requestCount++) });
      await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      const caller = await join({ service: 'sessions', ...options });
      await assert.rejects(caller.call('secrets.resolve', { name: LONG, to }), {
        code: 'INVALID_ARGUMENT',
        message: 'Invalid params: params: expected at most 65536 bytes, got 200124 bytes',
      });
      assert.equal(requestCount, 0);
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }), {
        code: 'FAILED_PRECONDITION',
        message: 'The result of secrets.resolve is too large: 200012 bytes, at most 65536 are allowed.',
        details: { reason: 'PAYLOAD_TOO_LARGE' },
      });
      assert.deepEqual([shelf.sizes, requestCount], [[], 1]);
    });
  });

  test('sends payloads of up to the message limit without a payload store', async () => {
    await withBuses(async (join) => {
      const owner = await join({ service: 'sessions' });
      await owner.serve(contracts.sessions, { 'session.export': () => exported(LONG) }, { version });
      const reply: Reply = await forward(await join({ service: 'gateway' }), 'session.export', EXPORT);
      assert.deepEqual(JSON.parse(Buffer.from(reply.data ?? EMPTY).toString()), exported(LONG));
    });
  });
}

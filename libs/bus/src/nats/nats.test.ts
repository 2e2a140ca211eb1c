import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AckPolicy, StorageType, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers } from '@nats-io/nats-core';
import { Svcm } from '@nats-io/services';
import { connect } from '@nats-io/transport-node';
import { contracts, servicePrincipal, subjects } from '@switchyard/contracts';
import { collect, createLogger, exposition, silentLogger } from '@switchyard/telemetry';
import { startNatsServer, type NatsServer } from '@switchyard/testkit';
import type { Bus } from '../client/bus.ts';
import { connectBus } from '../connect-bus.ts';
import { result, to, turn } from '../contract/bus-fixture.contract.ts';
import { encodePrincipal } from '../wire/principal-header.ts';
import type { BucketEntry, Watch } from '../wire/transport.ts';

const version = '1.0.0';
const log = silentLogger();

if (process.env['SWITCHYARD_TEST_NATS'] !== 'off') describe('NATS adapter', natsAlone);

/** Starts a server for one test and drains its buses at the end. */
async function withServer(
  run: (
    server: NatsServer,
    join: (service: 'gateway' | 'secrets' | 'sessions', options?: { bufferTimeoutMs: number }) => Promise<Bus>,
  ) => Promise<void>,
): Promise<void> {
  const server = await startNatsServer();
  const buses: Bus[] = [];
  try {
    await run(server, async (service, options = { bufferTimeoutMs: 5_000 }) => {
      const bus = await connectBus(server.url, { log, service, checkResults: true, ...options });
      buses.push(bus);
      return bus;
    });
  } finally {
    await Promise.all(buses.map((bus) => bus.drain()));
    await server.stop();
  }
}

/** Polls, because watches and connections report no event for this state. */
async function eventually(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

function natsAlone(): void {
  test('nats micro lists the service, its endpoints and statistics', async () => {
    await withServer(async (server, join) => {
      const owner = await join('secrets');
      const resolve = ({ name }: { name: string }) => (name === 'BAD' ? Promise.reject(new Error('no luck')) : { value: name });
      await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version: '1.2.3', replica: 'r1' });
      await owner.flush();
      const caller = await join('sessions');
      await caller.call('secrets.resolve', { name: 'GOOD', to });
      await assert.rejects(caller.call('secrets.resolve', { name: 'BAD', to }), { code: 'INTERNAL' });

      const connection = await connect({ servers: server.url });
      const client = new Svcm(connection).client();
      const first = async <T>(answers: Promise<AsyncIterable<T>>): Promise<T | undefined> => {
        for await (const answer of await answers) return answer;
        return undefined;
      };
      const { type: _type, metadata, ...identity } = (await first(client.ping('secrets'))) ?? {};
      assert.deepEqual(identity, { name: 'secrets', id: 'r1', version: '1.2.3' });
      assert.deepEqual([metadata?.['replica'], metadata?.['pid']], ['r1', String(process.pid)]);
      const info = await first(client.info('secrets', 'r1'));
      assert.deepEqual(info?.endpoints, [
        { name: 'secrets-resolve', subject: 'svc.secrets.secrets.resolve', queue_group: 'secrets', metadata: { kind: 'operation' } },
      ]);
      const [stats] = (await first(client.stats()))?.endpoints ?? [];
      assert.deepEqual([stats?.num_requests, stats?.num_errors, stats?.last_error], [2, 1, 'INTERNAL: Internal error']);
      await connection.close();
    });
  });

  test('ignores stored messages that JetStream delivers to requests and events', async () => {
    await withServer(async (server, join) => {
      const [owner, caller] = [await join('secrets'), await join('sessions')];
      const receivedMessages: string[] = [];
      await owner.serve(
        contracts.secrets,
        { 'secrets.resolve': ({ name }) => (receivedMessages.push(name), { value: name }) },
        { version },
      );
      owner.on('agent:hot_removed', ({ payload }) => void receivedMessages.push(payload.agentId));
      await owner.flush();

      const connection = await connect({ servers: server.url });
      const manager = await jetstreamManager(connection);
      await manager.streams.add({ name: 'LOOT', subjects: ['loot.*'], storage: StorageType.Memory, allow_direct: true });
      // JetStream delivers only to a subject that somebody subscribes to exactly.
      connection.subscribe('evt.registry.agent.hot_removed.acme');
      const forged = headers();
      forged.append('Sy-Principal', encodePrincipal(servicePrincipal('sessions', 'default')).replace(/^.*: /s, ''));
      const targets = [
        { says: { name: 'FORGED', to }, deliver_subject: 'svc.secrets.secrets.resolve', deliver_group: 'secrets' },
        { says: { agentId: 'forged', timestamp: 1 }, deliver_subject: 'evt.registry.agent.hot_removed.acme' },
      ];
      for (const [index, { says, ...deliver }] of targets.entries()) {
        const { seq } = await jetstream(connection).publish(`loot.${index}`, JSON.stringify(says), { headers: forged });
        const consumer = { durable_name: `c${index}`, filter_subject: `loot.${index}`, ack_policy: AckPolicy.None, ...deliver };
        await manager.consumers.add('LOOT', consumer);
        connection.publish('$JS.API.DIRECT.GET.LOOT', JSON.stringify({ seq }), { reply: deliver.deliver_subject });
        while ((await manager.consumers.info('LOOT', `c${index}`)).delivered.stream_seq !== seq) await connection.flush();
      }

      await caller.call('secrets.resolve', { name: 'ASKED', to });
      caller.emit('agent:hot_removed', { agentId: 'said', timestamp: 1 });
      await eventually(() => receivedMessages.includes('said'));
      assert.deepEqual(receivedMessages, ['ASKED', 'said']);
      await connection.close();
    });
  });

  test('an error has the headers of the NATS services protocol', async () => {
    await withServer(async (server, join) => {
      const owner = await join('secrets');
      await owner.serve(contracts.secrets, { 'secrets.resolve': () => ({ value: null }) }, { version });
      await owner.flush();
      const connection = await connect({ servers: server.url });
      const reply = await connection.request('svc.secrets.secrets.resolve', '{}');
      assert.equal(reply.headers?.get('Nats-Service-Error-Code'), 'UNAUTHENTICATED');
      assert.equal(reply.headers?.get('Nats-Service-Error'), 'Missing principal header.');
      await connection.close();
    });
  });

  test('reconnects to a restarted server and resumes service', async () => {
    await withServer(async (server, join) => {
      const [owner, caller] = [await join('secrets'), await join('sessions')];
      const started = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      const resolve = async ({ name }: { name: string }) => {
        if (name === 'SLOW') {
          started.resolve();
          await release.promise;
        }
        return { value: name };
      };
      await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      await owner.flush();

      const inFlight = caller.call('secrets.resolve', { name: 'SLOW', to }, { timeoutMs: 20_000 });
      await started.promise;
      await server.kill();
      await eventually(() => !caller.connected() && !owner.connected());
      const held = caller.call('secrets.resolve', { name: 'HELD', to }, { timeoutMs: 20_000 }).catch((error: unknown) => error);
      await server.restart();
      await eventually(() => caller.connected() && owner.connected());

      // The call was buffered during the outage. The order of the two reconnects is not defined.
      const answer = (await held) as { value?: string; code?: string };
      assert.ok(answer.value === 'HELD' || answer.code === 'UNAVAILABLE', JSON.stringify(answer));
      release.resolve();
      assert.deepEqual(await inFlight, { value: 'SLOW' });
      assert.deepEqual(await caller.call('secrets.resolve', { name: 'AGAIN', to }), { value: 'AGAIN' });
    });
  });

  test('buffers a limited amount during an outage', async () => {
    await withServer(async (server, join) => {
      const caller = await join('gateway');
      await server.kill();
      await eventually(() => !caller.connected());
      const large = { ...turn, message: 'x'.repeat(7 * 1024 * 1024) };
      const held = [1, 2].map(() => caller.call('turns.complete', large, { timeoutMs: 200 }));
      const refused = caller.call('turns.complete', large, { timeoutMs: 60_000 });
      await assert.rejects(refused, { code: 'UNAVAILABLE', details: { reason: 'BUS_UNREACHABLE' } });
      const bytes = Number(/^switchyard_bus_held_bytes\{service="gateway"\} (\d+)$/m.exec(exposition(collect()))?.[1]);
      assert.ok(bytes > 14 * 1024 * 1024 && bytes < 15 * 1024 * 1024, `${bytes} bytes are held`);
      for (const call of held) await assert.rejects(call, { code: 'DEADLINE_EXCEEDED' });
    });
  });

  test('a long outage rejects pending calls, which are not sent later', async () => {
    await withServer(async (server, join) => {
      const bufferTimeoutMs = 200;
      const [owner, caller] = [await join('secrets', { bufferTimeoutMs }), await join('sessions', { bufferTimeoutMs })];
      const asked: string[] = [];
      const started = Promise.withResolvers<void>();
      const released = Promise.withResolvers<{ value: string }>();
      const resolve = ({ name }: { name: string }) => {
        asked.push(name);
        if (name !== 'NEVER') return { value: name };
        started.resolve();
        return released.promise;
      };
      await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      await owner.flush();
      const unreachable = { code: 'UNAVAILABLE', details: { reason: 'BUS_UNREACHABLE' } };
      const unanswered = { code: 'UNAVAILABLE', details: { reason: 'BUS_UNREACHABLE', mayHaveRun: true, retryable: true } };
      const sent = assert.rejects(caller.call('secrets.resolve', { name: 'NEVER', to }, { timeoutMs: 60_000 }), unanswered);
      await started.promise;
      await server.kill();
      await eventually(() => !caller.connected());
      await assert.rejects(caller.call('secrets.resolve', { name: 'HELD', to }, { timeoutMs: 60_000 }), unanswered);
      await sent;
      await assert.rejects(caller.call('secrets.resolve', { name: 'LATE', to }, { timeoutMs: 60_000 }), unreachable);
      await server.restart();
      await eventually(() => caller.connected() && owner.connected());
      await owner.flush();
      assert.deepEqual(await caller.call('secrets.resolve', { name: 'AGAIN', to }), { value: 'AGAIN' });
      assert.deepEqual(asked, ['NEVER', 'AGAIN']);
      released.resolve({ value: 'too late' });
    });
  });

  test('after a store loss, rewritten keys stay and other keys are removed', async () => {
    await withServer(async (server, join) => {
      const bufferTimeoutMs = 1_000;
      const [reader, writer] = [await join('secrets', { bufferTimeoutMs }), await join('sessions', { bufferTimeoutMs })];
      const [read, write] = [await reader.kv({ name: 'truth' }), await writer.kv({ name: 'truth' })];
      const revisions: number[] = [];
      for (const key of ['kept', 'revoked']) revisions.push(await write.put(key, Buffer.from(key)));
      const seen: [string, string | undefined][] = [];
      const watch = await read.watch(({ key, value }: BucketEntry) => seen.push([key, value && Buffer.from(value).toString()]));
      let attempts = 0;
      writer.onRestored(async () => {
        attempts++;
        for (const value of ['first', 'second']) revisions.push(await write.put('kept', Buffer.from(value)));
        if (attempts === 1) throw new Error('not yet');
      });
      await server.restart({ empty: true });
      await eventually(() => seen.some(([key, value]) => key === 'revoked' && value === undefined));
      await eventually(() => attempts === 2 && watch.lostSince() === undefined);
      assert.deepEqual(
        revisions,
        [...new Set(revisions)].toSorted((one, other) => one - other),
        'revisions grow across the loss',
      );
      assert.equal((await read.get('kept'))?.revision, revisions.at(-1));
      assert.deepEqual(
        seen.findLast(([key]) => key === 'kept'),
        ['kept', 'second'],
      );
      assert.ok(
        seen.every(([key, value]) => key !== 'kept' || value !== undefined),
        'rewritten keys were never reported as removed',
      );
      watch.stop();
    });
  });

  test('lostSince reports an outage, and the watch delivers missed changes afterwards', async () => {
    await withServer(async (server, join) => {
      const [reader, writer] = [await join('secrets'), await join('sessions')];
      const [read, write] = [await reader.kv({ name: 'guard' }), await writer.kv({ name: 'guard' })];
      await write.put('a', Buffer.from('1'));
      const seen: [string, string | undefined][] = [];
      const watch: Watch = await read.watch(({ key, value }: BucketEntry) => seen.push([key, value && Buffer.from(value).toString()]));
      assert.equal(watch.lostSince(), undefined);

      const killedAt = Date.now();
      await server.kill();
      await eventually(() => watch.lostSince() !== undefined);
      const since = watch.lostSince() ?? 0;
      assert.ok(Math.abs(since - killedAt) < 3_000, `lost since ${since}, killed at ${killedAt}`);

      await server.restart();
      await eventually(() => writer.connected());
      await write.put('a', Buffer.from('2'));
      await write.put('b', Buffer.from('3'));
      await eventually(() => watch.lostSince() === undefined && seen.length >= 3);
      assert.deepEqual(seen, [
        ['a', '1'],
        ['a', '2'],
        ['b', '3'],
      ]);
      watch.stop();
    });
  });

  test('a memory log is recreated after a server restart', async () => {
    await withServer(async (server, join) => {
      const bus = await join('sessions');
      const definition = { name: 'FRAMES', subjects: ['frames.*'], maxAgeMs: 60_000, storage: 'memory' as const };
      const kept = await bus.log(definition);
      await kept.append({ subject: 'frames.a', data: Buffer.from('before') });
      await server.kill();
      await eventually(() => !bus.connected());
      const held = kept.append({ subject: 'frames.a', data: Buffer.from('meanwhile') });
      await server.restart();
      await held;
      await kept.append({ subject: 'frames.a', data: Buffer.from('after') });
      assert.deepEqual(
        (await kept.read('frames.a')).map(({ data }) => Buffer.from(data).toString()),
        ['meanwhile', 'after'],
      );
    });
  });

  test('reading a log during an outage rejects with UNAVAILABLE', async () => {
    await withServer(async (server, join) => {
      const bus = await join('sessions');
      const definition = { name: 'FRAMES', subjects: ['frames.*'], maxAgeMs: 60_000, storage: 'memory' as const };
      const kept = await bus.log(definition);
      await server.kill();
      await eventually(() => !bus.connected());
      const away = { code: 'UNAVAILABLE', details: { reason: 'BUS_UNREACHABLE' } };
      await Promise.all([
        assert.rejects(kept.position(), away),
        assert.rejects(kept.page('frames.*', 1, 1), away),
        assert.rejects(bus.log({ ...definition, name: 'OTHERS', subjects: ['others.*'] }), away),
        assert.rejects(bus.kv({ name: 'others' }), away),
      ]);
      await server.restart();
    });
  });

  test('connectBus waits for a server that starts later', async () => {
    await withServer(async (server, join) => {
      await server.kill();
      const joining = join('secrets');
      await server.restart();
      assert.equal((await joining).connected(), true);
    });
  });

  test('logs a warning for a small max_payload and applies it', async () => {
    const server = await startNatsServer({ maxPayload: 1024 * 1024 });
    const lines: { msg: string; offered?: number }[] = [];
    const noisy = createLogger({
      level: 'warn',
      destination: { write: (line: string) => void lines.push(JSON.parse(line) as { msg: string }) },
    });
    const bus = await connectBus(server.url, { log: noisy, service: 'gateway' });
    assert.equal(bus.maxPayload, 1024 * 1024);
    assert.deepEqual(
      lines.map(({ msg, offered }) => [/set it to 8MB/.test(msg), offered]),
      [[true, 1024 * 1024]],
    );
    const asked = bus.call('turns.complete', { ...turn, message: 'x'.repeat(1024 * 1024) });
    await assert.rejects(asked, { details: { reason: 'PAYLOAD_TOO_LARGE' } });
    await bus.drain();
    await server.stop();
  });

  test('a payload above the limit fails its call and keeps the connection', async () => {
    const server = await startNatsServer();
    const lost: string[] = [];
    const watching = createLogger({ level: 'warn', destination: { write: (line: string) => void lost.push(line) } });
    const [owner, caller] = await Promise.all(
      (['sessions', 'gateway'] as const).map((service) => connectBus(server.url, { log: watching, service })),
    );
    assert.ok(owner && caller);
    const huge = 'x'.repeat(caller.maxPayload);
    const complete = ({ message }: typeof turn) => ({ ...result, response: message === 'LARGE' ? huge : message });
    await owner.serve(contracts.sessions, { 'turns.complete': complete }, { version });
    await owner.flush();
    const sendRequest = async (message: string) => (await caller.call('turns.complete', { ...turn, message })).response;
    const going = sendRequest('BESIDE');
    const tooLarge = { code: 'FAILED_PRECONDITION', details: { reason: 'PAYLOAD_TOO_LARGE' } };
    await assert.rejects(sendRequest(huge), tooLarge);
    await assert.rejects(sendRequest('LARGE'), tooLarge);
    assert.throws(() => caller.publish(subjects.counted, Buffer.from(`${huge}x`)), tooLarge);
    assert.equal(await going, 'BESIDE');
    assert.equal(await sendRequest('AFTER'), 'AFTER');
    assert.deepEqual(
      lost.filter((line) => /connection|reports an error/.test(line)),
      [],
    );
    await Promise.all([owner.drain(), caller.drain()]);
    await server.stop();
  });

  test('drain does not wait for an unreachable server', async () => {
    await withServer(async (server, join) => {
      const bus = await join('secrets');
      await bus.serve(contracts.secrets, {}, { version });
      await server.kill();
      await eventually(() => !bus.connected());
      await bus.drain();
      await bus.closed;
    });
  });
}

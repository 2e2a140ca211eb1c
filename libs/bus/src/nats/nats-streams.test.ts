import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '@nats-io/transport-node';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { listStreams, subjects, TURNS_LOG } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { startNatsServer, type NatsServer } from '@switchyard/testkit';
import { connectNats } from './connect-nats.ts';
import type { Transport } from '../wire/transport.ts';

const OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const log = silentLogger();
const TURNS = Array.from({ length: 64 }, (_, n) => `turn_${n}`);

const ROOM_FOR_TWO = `accounts { SMALL { users: [{ user: any, password: any }], jetstream { max_mem: 150MB, max_file: 1GB } } }
no_auth_user: any`;

interface Scene extends AsyncDisposable {
  server: NatsServer;
  manager: JetStreamManager;
  /** Connects as a service. */
  join(): Promise<Transport>;
  /** Runs the provisioning job. */
  provision(streams: number): Promise<void>;
  /** The subjects of each existing stream. */
  shares(): Promise<Record<string, readonly string[]>>;
}

async function scene(configuration = ''): Promise<Scene> {
  await using starting = new AsyncDisposableStack();
  const server = await startNatsServer({ configuration });
  starting.defer(() => server.stop());
  const connection = await connect({ servers: server.url });
  starting.defer(() => connection.close());
  const manager = await jetstreamManager(connection);
  const join = async (): Promise<Transport> => {
    const transport = await connectNats(server.url, { log });
    own.defer(() => transport.drain());
    return transport;
  };
  const own = starting.move();
  return {
    server,
    manager,
    join,
    async provision(streams) {
      const job = await connectNats(server.url, { log });
      await job.log({ ...TURNS_LOG, streams }).finally(() => job.drain());
    },
    async shares() {
      const all = await Array.fromAsync(manager.streams.list());
      return Object.fromEntries(all.map(({ config }) => [config.name, config.subjects ?? []]));
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

const sizes = (shares: Record<string, readonly string[]>): number[] =>
  listStreams(TURNS_LOG).flatMap((name) => shares[name]?.filter((subject) => TURNS_LOG.parts?.includes(subject)).length ?? []);

test('the provisioning job sets the number of streams, and a service keeps it', { skip: OFF }, async () => {
  await using s = await scene();
  for (const [streams, expectedItems] of [
    [4, [4, 4, 4, 4]],
    [3, [6, 5, 5, 0]],
    [1, [16, 0, 0, 0]],
    [16, Array.from({ length: 16 }, () => 1)],
    [16, Array.from({ length: 16 }, () => 1)],
  ] as const) {
    await s.provision(streams);
    await (await s.join()).log(TURNS_LOG);
    const shares = await s.shares();
    assert.deepEqual(sizes(shares), expectedItems, `${streams} streams`);
    for (const part of TURNS_LOG.parts ?? [])
      assert.equal(Object.values(shares).filter((keptItems) => keptItems.includes(part)).length, 1, part);
  }
});

test('a service creates one stream without a provisioning job', { skip: OFF }, async () => {
  await using s = await scene();
  await (await s.join()).log(TURNS_LOG);
  assert.deepEqual(await s.shares(), { TURNS_0: TURNS_LOG.parts });
});

test('messages are stored and readable while the number of streams changes', { skip: OFF }, async () => {
  await using s = await scene();
  await s.provision(1);
  const [speaker, reader] = [await s.join(), await s.join()];
  const kept = await reader.log(TURNS_LOG);
  const sendMessage = async (text: string): Promise<void> => {
    for (const turn of TURNS) speaker.publish({ subject: subjects.turn(turn), data: Buffer.from(text) });
    await speaker.flush();
  };
  const getHeard = async (turn: string): Promise<string[]> =>
    (await kept.read(subjects.turn(turn))).map(({ data }) => Buffer.from(data).toString());

  await sendMessage('in one');
  for (const [streams, text] of [
    [4, 'in four'],
    [2, 'in two'],
    [5, 'in five'],
    [1, 'in one again'],
  ] as const) {
    await s.provision(streams);
    await sendMessage(text);
  }

  for (const turn of TURNS) {
    const receivedMessages = await getHeard(turn);
    // Streams answer in any order; frames have their own numbers.
    assert.deepEqual(receivedMessages.toSorted(), ['in five', 'in four', 'in one', 'in one again', 'in two'], turn);
  }
});

test('moving parts between streams loses at most the messages published in between', { skip: OFF }, async () => {
  await using s = await scene();
  await s.provision(1);
  const [speaker, reader] = [await s.join(), await s.join()];
  const kept = await reader.log(TURNS_LOG);
  let said = 0;
  let over = false;
  const talking = (async () => {
    for (; !over; said++) {
      for (const turn of TURNS) speaker.publish({ subject: subjects.turn(turn), data: Buffer.from(String(said)) });
      await speaker.flush();
    }
  })();
  for (const streams of [4, 1, 8]) await s.provision(streams);
  over = true;
  await talking;

  for (const turn of TURNS) {
    const heard = new Set((await kept.read(subjects.turn(turn))).map(({ data }) => Number(Buffer.from(data).toString())));
    // No stream stores a part during two requests, and at most this many messages were affected.
    assert.ok(said - heard.size <= said / 4, `${turn}: ${heard.size} of ${said}`);
  }
});

test('a failed stream creation leaves the streams unchanged', { skip: OFF }, async () => {
  await using s = await scene(ROOM_FOR_TWO);
  await s.provision(2);
  const before = await s.shares();
  await assert.rejects(s.provision(4), /insufficient memory/);
  assert.deepEqual(sizes(await s.shares()), sizes(before));
  const kept = await (await s.join()).log(TURNS_LOG);
  for (const turn of TURNS) await kept.append({ subject: subjects.turn(turn), data: Buffer.from('kept') });
});

test('an interrupted provisioning job can be repeated', { skip: OFF }, async () => {
  await using s = await scene();
  await s.provision(2);
  // One stream has released its parts. Another stream takes them later.
  await s.manager.streams.update('TURNS_1', { subjects: ['TURNS_1'] });
  await s.provision(2);
  assert.deepEqual(sizes(await s.shares()), [8, 8]);
});

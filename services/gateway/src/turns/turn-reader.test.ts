import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectBus, createMemoryHub, type Bus } from '@switchyard/bus';
import { ServiceError, sessions, subjects, TURNS_LOG, type ErrorCode, type TurnFrame } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { silentLogger } from '@switchyard/telemetry';
import { RESULT, type FrameBody } from './turns.fixture.ts';
import { createNotFollowedError } from './turn-errors.ts';
import { openTurnReader, type TurnReader, type TurnStatus } from './turn-reader.ts';

type Delivered = { frames: TurnFrame[]; lost?: ServiceError };

interface Scene extends AsyncDisposable {
  bus: Bus;
  turnId: string;
  /** The status that the sessions service returns. */
  status: TurnStatus;
  statusRequests: number;
  /** Status requests that fail before the first success. */
  failures: number;
  publish(n: number, body: FrameBody): void;
  reader: (silenceMs?: number) => TurnReader;
}

async function openScene(): Promise<Scene> {
  const log = silentLogger();
  const hub = createMemoryHub();
  const owner = await connectBus('memory:', { hub, log, service: 'sessions' });
  const bus = await connectBus('memory:', { hub, log, service: 'gateway' });
  await bus.log(TURNS_LOG);
  const turnId = mintId('turn');
  const opened: Scene = {
    bus,
    turnId,
    status: { turnId, sessionKey: 'default:alice:gateway', state: 'running' },
    statusRequests: 0,
    failures: 0,
    publish: (n, body) => owner.publish(subjects.turn(turnId), Buffer.from(JSON.stringify({ n, ...body }))),
    reader: (silenceMs) =>
      openTurnReader({
        bus,
        turnId,
        repeatable: false,
        storeIntervalMs: 1,
        outageTimeoutMs: 200,
        ...(silenceMs === undefined ? {} : { silenceMs }),
      }),
    async [Symbol.asyncDispose]() {
      await bus.drain();
      await owner.drain();
    },
  };
  const resume = () => {
    opened.statusRequests++;
    if (opened.failures-- > 0) throw new ServiceError('UNAVAILABLE', 'No replica answers.');
    return opened.status;
  };
  await owner.serve(sessions, { 'turns.resume': resume }, { version: '0.0.0' });
  return opened;
}

/** Everything a reader delivers until its end. */
function readAll(reader: TurnReader, status?: TurnStatus): Promise<Delivered> {
  return new Promise((resolve) => {
    const frames: TurnFrame[] = [];
    reader.read(
      {
        frames(batch) {
          frames.push(...batch);
          const last = batch.at(-1)?.type;
          if (last === 'done' || last === 'error') resolve({ frames });
        },
        lost: (lost) => resolve({ frames, lost }),
      },
      status,
    );
  });
}

const delta = (text: string): FrameBody => ({ type: 'delta', text });
const done: FrameBody = { type: 'done', result: RESULT };
const numbers = ({ frames }: Delivered): number[] => frames.map(({ n }) => n);

test('delivers frames that arrived before read', async () => {
  await using s = await openScene();
  const reader = s.reader();
  s.publish(0, delta('a'));
  await s.bus.flush();
  const delivered = readAll(reader);
  s.publish(1, delta('b'));
  s.publish(2, done);
  assert.deepEqual(numbers(await delivered), [0, 1, 2]);
});

test('delivers a repeated or late frame once, in order', async () => {
  await using s = await openScene();
  const delivered = readAll(s.reader());
  for (const n of [0, 0, 2, 1, 1]) s.publish(n, delta(String(n)));
  s.publish(3, done);
  assert.deepEqual(numbers(await delivered), [0, 1, 2, 3]);
});

test('reads frames from before the subscription from the log', async () => {
  await using s = await openScene();
  s.publish(0, delta('a'));
  s.publish(1, delta('b'));
  await s.bus.flush();
  const delivered = readAll(s.reader());
  s.publish(2, delta('c'));
  s.publish(3, done);
  assert.deepEqual(numbers(await delivered), [0, 1, 2, 3]);
});

test('neither loses nor repeats frames that arrive while the log is read', async () => {
  await using s = await openScene();
  for (let n = 0; n < 50; n++) s.publish(n, delta('x'));
  await s.bus.flush();
  const delivered = readAll(s.reader(), s.status);
  for (let n = 50; n < 99; n++) s.publish(n, delta('y'));
  s.publish(99, done);
  assert.deepEqual(
    numbers(await delivered),
    Array.from({ length: 100 }, (_, n) => n),
  );
});

test('reads frames above MAX_HELD_FRAMES from the log', async () => {
  await using s = await openScene();
  const reader = s.reader();
  const count = 6_000;
  for (let n = 0; n < count; n++) s.publish(n, delta('x'));
  await s.bus.flush();
  const delivered = readAll(reader);
  s.publish(count, done);
  assert.equal((await delivered).frames.length, count + 1);
});

test('ends with STREAM_GAP when a frame is lost', async () => {
  await using s = await openScene();
  const delivered = readAll(s.reader());
  s.publish(0, delta('a'));
  s.publish(2, delta('c'));
  const { frames, lost } = await delivered;
  assert.deepEqual(
    frames.map(({ n }) => n),
    [0],
  );
  assert.equal(lost?.code, 'DATA_LOSS');
  assert.equal(lost.details.reason, 'STREAM_GAP');
});

test('delivers the result of an ended turn from its status', async () => {
  await using s = await openScene();
  s.status = { ...s.status, state: 'done', lastFrame: 9, result: RESULT };
  const { frames } = await readAll(s.reader(), s.status);
  assert.deepEqual(frames, [{ n: 9, type: 'done', result: RESULT }]);
});

test('delivers the stored text and the result when the last frames are lost', async () => {
  await using s = await openScene();
  const reader = s.reader(30);
  const delivered = readAll(reader);
  s.publish(0, delta('a'));
  await s.bus.flush();
  s.status = { ...s.status, state: 'done', lastFrame: 3, result: RESULT, soFar: { text: 'all of it', frame: 3, fence: 1 } };
  const { frames } = await delivered;
  assert.deepEqual(
    frames.map(({ n, type }) => [n, type]),
    [
      [0, 'delta'],
      [2, 'resumed'],
      [3, 'done'],
    ],
  );
  assert.equal(frames[1]?.type === 'resumed' && frames[1].text, 'all of it');
});

test('delivers only the result when no frame is missing', async () => {
  await using s = await openScene();
  const reader = s.reader(30);
  const delivered = readAll(reader);
  s.publish(0, delta('a'));
  await s.bus.flush();
  s.status = { ...s.status, state: 'done', lastFrame: 1, result: RESULT, soFar: { text: 'a', frame: 1, fence: 1 } };
  assert.deepEqual(numbers(await delivered), [0, 1]);
});

test('delivers the failure of a turn without frames', async () => {
  await using s = await openScene();
  const error = { code: 'UNAVAILABLE', message: 'The process stopped.' } as const;
  const { frames } = await readAll(s.reader(), { ...s.status, state: 'failed', lastFrame: 4, failure: error });
  assert.deepEqual(frames, [{ n: 4, type: 'error', error }]);
});

test('on silence waits for a queued turn and gives up a running turn', async () => {
  await using s = await openScene();
  s.status = { ...s.status, state: 'queued' };
  const delivered = readAll(s.reader(5));
  s.publish(0, delta('a'));
  while (s.statusRequests < 3) await s.bus.flush();
  s.status = { ...s.status, state: 'running' };
  const { lost } = await delivered;
  assert.equal(lost?.code, 'UNAVAILABLE');
  assert.equal(lost.details.reason, 'STREAM_SILENT');
  assert.equal(lost.retryable, false, 'a retry would start a second turn');
});

test('on silence waits for a turn merged into another turn', async () => {
  await using s = await openScene();
  s.status = { ...s.status, state: 'running', heardBy: mintId('turn') };
  const delivered = readAll(s.reader(5));
  let ended = false;
  void delivered.then(() => (ended = true));
  s.publish(0, delta('a'));
  while (s.statusRequests < 3 && !ended) await s.bus.flush();
  s.publish(1, done);
  assert.deepEqual(numbers(await delivered), [0, 1]);
});

test('on silence finds the result whose frame was lost', async () => {
  await using s = await openScene();
  const delivered = readAll(s.reader(5));
  s.publish(0, delta('a'));
  s.status = { ...s.status, state: 'done', lastFrame: 1, result: RESULT };
  assert.deepEqual((await delivered).frames.at(-1), { n: 1, type: 'done', result: RESULT });
});

test('retries while the sessions service is unavailable, up to outageTimeoutMs', async () => {
  await using s = await openScene();
  s.failures = 3;
  const delivered = readAll(s.reader(5));
  s.publish(0, delta('a'));
  s.status = { ...s.status, state: 'done', lastFrame: 1, result: RESULT };
  assert.deepEqual((await delivered).frames.at(-1), { n: 1, type: 'done', result: RESULT });
  assert.equal(s.statusRequests, 4);
  s.failures = Number.POSITIVE_INFINITY;
  assert.equal((await readAll(s.reader(5))).lost?.code, 'UNAVAILABLE');
});

test('delivers missing text of an ended turn before its result', async () => {
  await using s = await openScene();
  const soFar = { text: 'all of it', frame: 9, fence: 2 };
  s.status = { ...s.status, state: 'done', lastFrame: 9, result: RESULT, soFar };
  assert.deepEqual((await readAll(s.reader(), s.status)).frames, [
    { n: 8, type: 'resumed', text: 'all of it' },
    { n: 9, type: 'done', result: RESULT },
  ]);
});

/** The outcome of a reader that receives no frames. */
const NOT_FOLLOWED: readonly [code: ErrorCode, retryableWithKey: boolean][] = [
  ['UNAVAILABLE', true],
  ['DEADLINE_EXCEEDED', true],
  ['DATA_LOSS', true],
  ['NOT_FOUND', false],
  ['PERMISSION_DENIED', false],
  ['INTERNAL', false],
];

for (const [code, retryableWithKey] of NOT_FOLLOWED)
  test(`a turn that cannot be followed, ${code}: ${retryableWithKey ? 'retryable with its key' : 'not retryable'}`, () => {
    const turnId = mintId('turn');
    for (const repeatable of [true, false]) {
      const { details, ...error } = createNotFollowedError(new ServiceError(code, 'why'), { turnId, repeatable });
      assert.deepEqual([error.code, details.turnId, details.retryable], [code, turnId, repeatable && retryableWithKey]);
    }
  });

test('delivers nothing after close', async () => {
  await using s = await openScene();
  const reader = s.reader();
  const delivered: number[] = [];
  const first = new Promise<void>((resolve) => {
    reader.read({ frames: (frames) => resolve(void delivered.push(...frames.map(({ n }) => n))), lost: () => assert.fail('lost') });
  });
  s.publish(0, delta('a'));
  await first;
  reader.close();
  s.publish(1, delta('b'));
  await s.bus.flush();
  assert.deepEqual(delivered, [0]);
});

test('delivers a result too long for a frame from the turn document', async () => {
  await using s = await openScene();
  const reader = s.reader();
  const result = { ...RESULT, response: 'x'.repeat(100_000) };
  s.status = { ...s.status, state: 'done', lastFrame: 2, result };
  const delivered = readAll(reader);
  s.publish(0, delta('a'));
  s.publish(1, delta('b'));
  s.publish(2, { type: 'done', whole: false, result: { ...RESULT, response: '' } });
  const { frames, lost } = await delivered;
  assert.equal(lost, undefined);
  assert.deepEqual(frames.at(-1), { n: 2, type: 'done', result });
  assert.deepEqual([numbers({ frames }), s.statusRequests], [[0, 1, 2], 1]);
});

test('delivers nothing when closed while the result is requested', async () => {
  await using s = await openScene();
  const reader = s.reader();
  s.status = { ...s.status, state: 'done', lastFrame: 1, result: RESULT };
  const delivered: TurnFrame[] = [];
  reader.read({
    frames(batch) {
      delivered.push(...batch);
      reader.close();
    },
    lost: () => assert.fail('it was closed'),
  });
  s.publish(0, delta('a'));
  s.publish(1, { type: 'done', whole: false, result: { ...RESULT, response: '' } });
  while (s.statusRequests === 0 && delivered.length === 0) await s.bus.flush();
  await s.bus.call('turns.resume', { turnId: s.turnId });
  await s.bus.flush();
  assert.deepEqual(numbers({ frames: delivered }), [0]);
});

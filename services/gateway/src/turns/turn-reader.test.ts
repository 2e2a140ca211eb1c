import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectBus, createMemoryHub, type Bus } from '@switchyard/bus';
import { ServiceError, sessions, subjects, TURNS_LOG, type ErrorCode, type TurnFrame } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { silentLogger } from '@switchyard/telemetry';
import { RESULT, type FrameBody } from './turns.fixture.ts';
import { createNotFollowedError } from './turn-errors.ts';
import { openTurnReader, type TurnReader, type TurnStatus } from './turn-reader.ts';

type Heard = { frames: TurnFrame[]; lost?: ServiceError };

interface Scene extends AsyncDisposable {
  bus: Bus;
  turnId: string;
  /** The status that the sessions service returns. */
  status: TurnStatus;
  asked: number;
  /** Status requests that fail before the first success. */
  away: number;
  say(n: number, body: FrameBody): void;
  reader: (silenceMs?: number) => TurnReader;
}

async function scene(): Promise<Scene> {
  const log = silentLogger();
  const hub = createMemoryHub();
  const owner = await connectBus('memory:', { hub, log, service: 'sessions' });
  const bus = await connectBus('memory:', { hub, log, service: 'gateway' });
  await bus.log(TURNS_LOG);
  const turnId = mintId('turn');
  const it: Scene = {
    bus,
    turnId,
    status: { turnId, sessionKey: 'default:alice:gateway', state: 'running' },
    asked: 0,
    away: 0,
    say: (n, body) => owner.publish(subjects.turn(turnId), Buffer.from(JSON.stringify({ n, ...body }))),
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
    it.asked++;
    if (it.away-- > 0) throw new ServiceError('UNAVAILABLE', 'Nobody is there.');
    return it.status;
  };
  await owner.serve(sessions, { 'turns.resume': resume }, { version: '0.0.0' });
  return it;
}

/** Everything a reader delivers until its end. */
function hearAll(reader: TurnReader, status?: TurnStatus): Promise<Heard> {
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
const numbers = ({ frames }: Heard): number[] => frames.map(({ n }) => n);

test('delivers frames that arrived before read', async () => {
  await using s = await scene();
  const reader = s.reader();
  s.say(0, delta('a'));
  await s.bus.flush();
  const heard = hearAll(reader);
  s.say(1, delta('b'));
  s.say(2, done);
  assert.deepEqual(numbers(await heard), [0, 1, 2]);
});

test('delivers a repeated or late frame once, in order', async () => {
  await using s = await scene();
  const heard = hearAll(s.reader());
  for (const n of [0, 0, 2, 1, 1]) s.say(n, delta(String(n)));
  s.say(3, done);
  assert.deepEqual(numbers(await heard), [0, 1, 2, 3]);
});

test('reads frames from before the subscription from the log', async () => {
  await using s = await scene();
  s.say(0, delta('a'));
  s.say(1, delta('b'));
  await s.bus.flush();
  const heard = hearAll(s.reader());
  s.say(2, delta('c'));
  s.say(3, done);
  assert.deepEqual(numbers(await heard), [0, 1, 2, 3]);
});

test('neither loses nor repeats frames that arrive while the log is read', async () => {
  await using s = await scene();
  for (let n = 0; n < 50; n++) s.say(n, delta('x'));
  await s.bus.flush();
  const heard = hearAll(s.reader(), s.status);
  for (let n = 50; n < 99; n++) s.say(n, delta('y'));
  s.say(99, done);
  assert.deepEqual(
    numbers(await heard),
    Array.from({ length: 100 }, (_, n) => n),
  );
});

test('reads frames above MAX_HELD from the log', async () => {
  await using s = await scene();
  const reader = s.reader();
  const count = 6_000;
  for (let n = 0; n < count; n++) s.say(n, delta('x'));
  await s.bus.flush();
  const heard = hearAll(reader);
  s.say(count, done);
  assert.equal((await heard).frames.length, count + 1);
});

test('ends with STREAM_GAP when a frame is lost', async () => {
  await using s = await scene();
  const heard = hearAll(s.reader());
  s.say(0, delta('a'));
  s.say(2, delta('c'));
  const { frames, lost } = await heard;
  assert.deepEqual(
    frames.map(({ n }) => n),
    [0],
  );
  assert.equal(lost?.code, 'DATA_LOSS');
  assert.equal(lost.details.reason, 'STREAM_GAP');
});

test('delivers the result of an ended turn from its status', async () => {
  await using s = await scene();
  s.status = { ...s.status, state: 'done', lastFrame: 9, result: RESULT };
  const { frames } = await hearAll(s.reader(), s.status);
  assert.deepEqual(frames, [{ n: 9, type: 'done', result: RESULT }]);
});

test('delivers the stored text and the result when the last frames are lost', async () => {
  await using s = await scene();
  const reader = s.reader(30);
  const all = hearAll(reader);
  s.say(0, delta('a'));
  await s.bus.flush();
  s.status = { ...s.status, state: 'done', lastFrame: 3, result: RESULT, soFar: { text: 'all of it', frame: 3, fence: 1 } };
  const { frames } = await all;
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
  await using s = await scene();
  const reader = s.reader(30);
  const all = hearAll(reader);
  s.say(0, delta('a'));
  await s.bus.flush();
  s.status = { ...s.status, state: 'done', lastFrame: 1, result: RESULT, soFar: { text: 'a', frame: 1, fence: 1 } };
  assert.deepEqual(numbers(await all), [0, 1]);
});

test('delivers the failure of a turn without frames', async () => {
  await using s = await scene();
  const error = { code: 'UNAVAILABLE', message: 'The process stopped.' } as const;
  const { frames } = await hearAll(s.reader(), { ...s.status, state: 'failed', lastFrame: 4, failure: error });
  assert.deepEqual(frames, [{ n: 4, type: 'error', error }]);
});

test('on silence waits for a queued turn and gives up a running turn', async () => {
  await using s = await scene();
  s.status = { ...s.status, state: 'queued' };
  const heard = hearAll(s.reader(5));
  s.say(0, delta('a'));
  while (s.asked < 3) await s.bus.flush();
  s.status = { ...s.status, state: 'running' };
  const { lost } = await heard;
  assert.equal(lost?.code, 'UNAVAILABLE');
  assert.equal(lost.details.reason, 'STREAM_SILENT');
  assert.equal(lost.retryable, false, 'asking again would ask twice');
});

test('on silence waits for a turn merged into another turn', async () => {
  await using s = await scene();
  s.status = { ...s.status, state: 'running', heardBy: mintId('turn') };
  const heard = hearAll(s.reader(5));
  let over = false;
  void heard.then(() => (over = true));
  s.say(0, delta('a'));
  while (s.asked < 3 && !over) await s.bus.flush();
  s.say(1, done);
  assert.deepEqual(numbers(await heard), [0, 1]);
});

test('on silence finds the result whose frame was lost', async () => {
  await using s = await scene();
  const heard = hearAll(s.reader(5));
  s.say(0, delta('a'));
  s.status = { ...s.status, state: 'done', lastFrame: 1, result: RESULT };
  assert.deepEqual((await heard).frames.at(-1), { n: 1, type: 'done', result: RESULT });
});

test('retries while the sessions service is unavailable, up to patienceMs', async () => {
  await using s = await scene();
  s.away = 3;
  const heard = hearAll(s.reader(5));
  s.say(0, delta('a'));
  s.status = { ...s.status, state: 'done', lastFrame: 1, result: RESULT };
  assert.deepEqual((await heard).frames.at(-1), { n: 1, type: 'done', result: RESULT });
  assert.equal(s.asked, 4);
  s.away = Number.POSITIVE_INFINITY;
  assert.equal((await hearAll(s.reader(5))).lost?.code, 'UNAVAILABLE');
});

test('delivers missing text of an ended turn before its result', async () => {
  await using s = await scene();
  const soFar = { text: 'all of it', frame: 9, fence: 2 };
  s.status = { ...s.status, state: 'done', lastFrame: 9, result: RESULT, soFar };
  assert.deepEqual((await hearAll(s.reader(), s.status)).frames, [
    { n: 8, type: 'resumed', text: 'all of it' },
    { n: 9, type: 'done', result: RESULT },
  ]);
});

/** The outcome of a reader that receives no frames. */
const UNHEARD: readonly [code: ErrorCode, underItsKey: boolean][] = [
  ['UNAVAILABLE', true],
  ['DEADLINE_EXCEEDED', true],
  ['DATA_LOSS', true],
  ['NOT_FOUND', false],
  ['PERMISSION_DENIED', false],
  ['INTERNAL', false],
];

for (const [code, underItsKey] of UNHEARD)
  test(`a turn that cannot be followed, ${code}: ${underItsKey ? 'retryable with its key' : 'not retryable'}`, () => {
    const turnId = mintId('turn');
    for (const repeatable of [true, false]) {
      const { details, ...error } = createNotFollowedError(new ServiceError(code, 'why'), { turnId, repeatable });
      assert.deepEqual([error.code, details.turnId, details.retryable], [code, turnId, repeatable && underItsKey]);
    }
  });

test('delivers nothing after close', async () => {
  await using s = await scene();
  const reader = s.reader();
  const heard: number[] = [];
  const first = new Promise<void>((resolve) => {
    reader.read({ frames: (frames) => resolve(void heard.push(...frames.map(({ n }) => n))), lost: () => assert.fail('lost') });
  });
  s.say(0, delta('a'));
  await first;
  reader.close();
  s.say(1, delta('b'));
  await s.bus.flush();
  assert.deepEqual(heard, [0]);
});

test('delivers a result too long for a frame from the turn document', async () => {
  await using s = await scene();
  const reader = s.reader();
  const result = { ...RESULT, response: 'x'.repeat(100_000) };
  s.status = { ...s.status, state: 'done', lastFrame: 2, result };
  const heard = hearAll(reader);
  s.say(0, delta('a'));
  s.say(1, delta('b'));
  s.say(2, { type: 'done', whole: false, result: { ...RESULT, response: '' } });
  const { frames, lost } = await heard;
  assert.equal(lost, undefined);
  assert.deepEqual(frames.at(-1), { n: 2, type: 'done', result });
  assert.deepEqual([numbers({ frames }), s.asked], [[0, 1, 2], 1]);
});

test('delivers nothing when closed while the result is requested', async () => {
  await using s = await scene();
  const reader = s.reader();
  s.status = { ...s.status, state: 'done', lastFrame: 1, result: RESULT };
  const heard: TurnFrame[] = [];
  reader.read({
    frames(batch) {
      heard.push(...batch);
      reader.close();
    },
    lost: () => assert.fail('it was closed'),
  });
  s.say(0, delta('a'));
  s.say(1, { type: 'done', whole: false, result: { ...RESULT, response: '' } });
  while (s.asked === 0 && heard.length === 0) await s.bus.flush();
  await s.bus.call('turns.resume', { turnId: s.turnId });
  await s.bus.flush();
  assert.deepEqual(numbers({ frames: heard }), [0]);
});

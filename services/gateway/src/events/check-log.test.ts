import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { Log, LogEntry, LogPosition } from '@switchyard/bus';
import { checkLog, type KnownPosition } from './check-log.ts';

const KNOWN: KnownPosition = { name: 'log', seq: 100, at: 5 };

interface FakeLog {
  /** Last sequence numbers that are reported one after the other. The last one is repeated. */
  reported: readonly number[];
  name?: string;
  /** The first event from sequence 100 on. */
  entry?: Pick<LogEntry, 'seq' | 'at'>;
}

/** A log with a clock that a position takes two seconds of. */
function openFakeLog({ reported, name = 'log', entry }: FakeLog) {
  let now = 0;
  mock.method(performance, 'now', () => now);
  const position = mock.fn(async (): Promise<LogPosition> => {
    const seq = reported[Math.min(position.mock.callCount(), reported.length - 1)] ?? assert.fail('no position');
    now += 2_000;
    return { name, firstSeq: 1, seq };
  });
  const page = async (): Promise<LogEntry[]> => (entry ? [entry as LogEntry] : []);
  return { events: { position, page } as unknown as Log, countReads: () => position.mock.callCount() };
}

test.afterEach(() => mock.restoreAll());

test('a log that reports less for a moment is not lost', async () => {
  const { events } = openFakeLog({ reported: [90, 95, 100], entry: { seq: 100, at: 5 } });
  assert.deepEqual(await checkLog(events, KNOWN), { name: 'log', firstSeq: 1, seq: 100, isLost: false });
});

test('a log that remains shorter is lost', async () => {
  const { events, countReads } = openFakeLog({ reported: [90] });
  assert.deepEqual(await checkLog(events, KNOWN), { name: 'log', firstSeq: 1, seq: 90, isLost: true });
  assert.equal(countReads(), 3);
});

test('a log with another name is lost at once', async () => {
  const { events, countReads } = openFakeLog({ reported: [1], name: 'new' });
  assert.deepEqual(await checkLog(events, KNOWN), { name: 'new', firstSeq: 1, seq: 1, isLost: true });
  assert.equal(countReads(), 1);
});

test('a log that lost its newest events and grew again is lost', async () => {
  const { events } = openFakeLog({ reported: [90, 120], entry: { seq: 100, at: 6 } });
  assert.equal((await checkLog(events, KNOWN)).isLost, true);
});

test('an event that was removed because of its age is not lost', async () => {
  const { events } = openFakeLog({ reported: [120], entry: { seq: 110, at: 9 } });
  assert.equal((await checkLog(events, KNOWN)).isLost, false);
  assert.equal((await checkLog(openFakeLog({ reported: [120] }).events, KNOWN)).isLost, false);
});

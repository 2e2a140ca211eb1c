import assert from 'node:assert/strict';
import { mock, test, type TestContext } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import fc from 'fast-check';
import { EMPTY } from './encoding.ts';
import { createMux, type Mux } from './reply-mux.ts';
import type { Message } from './transport.ts';

interface ReplyRecord {
  messages: number;
  ended?: 'deadline' | 'lost';
}

/** Creates a mux and delivers messages to it. */
function start(): {
  mux: Mux;
  arrive: (subject: string) => void;
  open: (timeoutMs?: number, more?: { responder?: string; extendMs?: () => number }) => [id: number, record: ReplyRecord];
} {
  let arrive: (message: Message) => void = () => assert.fail();
  const mux = createMux({
    inbox: '_INBOX.me',
    subscribe(_subject, onMessage) {
      arrive = onMessage;
      return { unsubscribe: () => undefined, drain: async () => undefined };
    },
  });
  return {
    mux,
    arrive: (subject) => arrive({ subject, data: EMPTY, reply: undefined, status: undefined, header: () => undefined }),
    open(timeoutMs = 1_000, { responder = 'sessions', extendMs } = {}) {
      const record: ReplyRecord = { messages: 0 };
      const waiting = {
        onMessage: () => void record.messages++,
        onDeadline: () => void (record.ended = 'deadline'),
        onLost: () => void (record.ended = 'lost'),
        ...(extendMs ? { extendMs } : {}),
      };
      return [mux.open(waiting, timeoutMs, responder), record];
    },
  };
}

/** Mocks the clock and returns a function that advances it. */
function clock(t: TestContext): (ms: number) => void {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'] });
  let now = 1_000;
  const stopped = mock.method(performance, 'now', () => now);
  t.after(() => stopped.mock.restore());
  return (ms) => {
    for (let remaining = ms; remaining > 0; remaining -= 20) {
      now += Math.min(remaining, 20);
      t.mock.timers.tick(Math.min(remaining, 20));
    }
  };
}

test('reuses a reply subject only after complete', () => {
  const { mux, open } = start();
  const [first] = open();
  assert.ok(mux.complete(first));
  assert.equal(open()[0], first);
  const gone = new Set<number>();
  for (const forget of [(id: number) => mux.close(id), () => mux.failAll(new ServiceError('UNAVAILABLE', 'gone'))]) {
    const [id] = open();
    gone.add(id);
    forget(id);
    for (let n = 0; n < 5; n++) assert.ok(!gone.has(open()[0]));
  }
});

test('does not reuse a reply subject after a deadline', (t) => {
  const pass = clock(t);
  const { open } = start();
  const [id, record] = open(100);
  pass(200);
  assert.equal(record.ended, 'deadline');
  for (let n = 0; n < 5; n++) assert.notEqual(open()[0], id);
});

test('ignores replies of another responder', () => {
  const { mux, arrive, open } = start();
  const [id, record] = open(1_000, { responder: 'sessions' });
  arrive(mux.formatReplySubject(id, 'secrets'));
  arrive(mux.formatReplySubject(id));
  arrive(`${mux.formatReplySubject(id, 'sessions')}.x`);
  arrive(`_INBOX.me.r.0${id.toString(36)}.sessions`);
  assert.equal(record.messages, 0);
  arrive(mux.formatReplySubject(id, 'sessions'));
  assert.equal(record.messages, 1);
  mux.complete(id);
  const [again, next] = open(1_000, { responder: 'secrets' });
  assert.equal(again, id);
  arrive(mux.formatReplySubject(id, 'sessions'));
  assert.equal(next.messages, 0);
  arrive(mux.formatReplySubject(id, 'secrets'));
  assert.equal(next.messages, 1);
});

test('reports deadlines on time for reused reply subjects', (t) => {
  const pass = clock(t);
  const { mux, open } = start();
  const [first] = open(500);
  mux.complete(first);
  pass(400);
  const [second, later] = open(1_000);
  assert.equal(second, first);
  pass(900);
  assert.equal(later.ended, undefined, 'the end of the one before is not its own');
  pass(140);
  assert.equal(later.ended, 'deadline');

  const [third] = open(5_000);
  mux.complete(third);
  const [fourth, sooner] = open(100);
  assert.equal(fourth, third);
  pass(140);
  assert.equal(sooner.ended, 'deadline', 'does not wait for the earlier deadline');
});

test('calls extendMs again after an extension', (t) => {
  const pass = clock(t);
  const { open } = start();
  let more = 300;
  const [, record] = open(100, { extendMs: () => more });
  pass(140);
  assert.equal(record.ended, undefined);
  more = 0;
  pass(340);
  assert.equal(record.ended, 'deadline');
});

test('schedules deadline checks by the current call only', (t) => {
  const pass = clock(t);
  const { mux, open } = start();
  const [id] = open(5_000);
  mux.complete(id);
  let looks = 0;
  const extendMs = (): number => {
    looks++;
    return 10_000;
  };
  open(100, { extendMs });
  pass(6_000);
  assert.equal(looks, 1);
});

test('reports deadlines after an idle period', (t) => {
  const pass = clock(t);
  const { mux, open } = start();
  const [id] = open(100_000);
  mux.complete(id);
  pass(100);
  const [, record] = open(200);
  pass(240);
  assert.equal(record.ended, 'deadline');
});

test('random calls each end once, on time and with their own replies', (t) => {
  const pass = clock(t);
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ open: fc.integer({ min: 20, max: 400 }) }) },
    { weight: 4, arbitrary: fc.record({ answer: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ close: fc.nat() }) },
    { weight: 3, arbitrary: fc.record({ pass: fc.integer({ min: 1, max: 100 }) }) },
    { weight: 1, arbitrary: fc.constant('lose' as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const { mux, arrive, open } = start();
      const waiting = new Map<number, { record: ReplyRecord; until: number }>();
      for (const one of steps) {
        if (one === 'lose') {
          mux.failAll(new ServiceError('UNAVAILABLE', 'gone'));
          for (const { record } of waiting.values()) assert.equal(record.ended, 'lost');
          waiting.clear();
        } else if ('open' in one) {
          const [id, record] = open(one.open);
          assert.ok(!waiting.has(id), 'the id is free');
          waiting.set(id, { record, until: performance.now() + one.open });
        } else if ('pass' in one) {
          pass(one.pass);
          for (const [id, { record, until }] of waiting) {
            if (record.ended === undefined) assert.ok(performance.now() < until + 60, 'told in time');
            else assert.ok(performance.now() >= until, 'not before');
            if (record.ended !== undefined) waiting.delete(id);
          }
        } else {
          const [id, call] = [...waiting][('answer' in one ? one.answer : one.close) % Math.max(waiting.size, 1)] ?? [];
          if (id === undefined || call === undefined) continue;
          arrive(mux.formatReplySubject(id, 'sessions'));
          assert.equal(call.record.messages, 1);
          assert.ok('answer' in one ? mux.complete(id) : mux.close(id));
          assert.ok(!mux.complete(id) && !mux.close(id));
          waiting.delete(id);
        }
        assert.equal(mux.size, waiting.size);
      }
      mux.shutDown();
    }),
    { numRuns: 500 },
  );
});

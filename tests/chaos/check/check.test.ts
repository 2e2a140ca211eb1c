import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry } from '../history.ts';
import { check } from './check.ts';
import { add, finalTurn, goodRun, tokenEvent, turn, type GoodRun } from './good-run.fixture.ts';

/** A change to a correct recording, the invariant that it breaks, and the reported sentence. */
type Spoiling = readonly [title: string, invariant: string, says: RegExp, spoil: (run: GoodRun) => void];

const drop = <T>(list: T[], like: (one: T) => boolean): void => void list.splice(list.findIndex(like), 1);
const getTurn = (run: GoodRun, message: string) => run.final.turns.find((one) => one.message === message)!;
const getEnd = (run: GoodRun, op: number) => run.history.find((entry) => entry.op === op && entry.type === 'ok') as Entry & { type: 'ok' };
const events = (run: GoodRun) => run.history.filter((entry) => entry.type === 'heard');
const getEvent = (run: GoodRun, id: string) => events(run).find(({ event }) => event.id === id && event.name !== 'token')!;

const SPOILED: readonly Spoiling[] = [
  [
    'an answered turn is gone',
    'I1',
    /a was answered, and one does not have it/,
    (run) => drop(run.final.turns, ({ message }) => message === 'a'),
  ],
  ['a turn runs for ever', 'I1', /turn_b is running in the end/, (run) => void (getTurn(run, 'b').state = 'running')],
  ['a session is never free again', 'I1', /is held by/, (run) => void run.final.left.push('one is held by sessions-2')],
  [
    'an accepted turn is gone that nobody had an answer of',
    'I1',
    /e was accepted, and there is no such turn/,
    (run) => {
      add(run, 300, turn('e', 'sse'), { unknown: true, events: [{ ...tokenEvent(2, 'e', 'e'), id: 'turn_e:2' }] });
    },
  ],
  [
    'nobody can say what became of a turn',
    'I1',
    /e was asked for until the end/,
    (run) => void add(run, 300, turn('e', 'rpc'), { unknown: true }),
  ],
  [
    'a turn is there that nobody asked for',
    'I2',
    /turn_x in one says x, which nobody asked/,
    (run) => void run.final.turns.push({ ...finalTurn('x', 'one', 9), epoch: 'gone' }),
  ],
  ['a turn is in another session', 'I2', /which nobody asked there/, (run) => void (getTurn(run, 'd').session = 'one')],
  [
    'a key runs two turns',
    'I3',
    /a was carried out 2 times/,
    (run) => void run.final.turns.push({ ...finalTurn('a', 'one', 7), turnId: 'turn_a2' }),
  ],
  [
    'two runners end one turn',
    'I3',
    /turn_a ended 2 times, by sessions-1, sessions-2/,
    (run) => {
      run.notes.push({ ...run.notes.find(({ what, id }) => what === 'commit' && id === 'turn_a')!, replica: 'sessions-2' });
    },
  ],
  [
    'a turn is counted twice',
    'I3',
    /one 1 was counted 2 times/,
    (run) => void run.notes.push(run.notes.find(({ what }) => what === 'settle')!),
  ],
  ['a session counts what it does not have', 'I3', /counts 6 messages and has 4/, (run) => void (run.final.sessions[0]!.messageCount = 6)],
  [
    'a runner writes that was fenced off',
    'I3',
    /text of turn_a by sessions-2 under 9, after sessions-1 wrote under 10/,
    (run) => {
      run.notes.push({ replica: 'sessions-2', pid: 2, from: 50, to: 51, what: 'text', id: 'turn_a', fence: 9, state: 'done' });
    },
  ],
  ['a retry gets another answer', 'I4', /a has 2 answers/, (run) => void add(run, 300, turn('a', 'rpc'), { response: { response: 'A!' } })],
  ['what is kept is not what was answered', 'I4', /kept is b\?/, (run) => void (getTurn(run, 'b').response = 'b?')],
  [
    'a key takes another message',
    'I4',
    /key-a with another message: ok/,
    (run) => void add(run, 300, ['reuse', { key: 'key-a', message: 'y', door: 'rpc' }], { response: { response: 'y!' } }),
  ],
  [
    'turns change places',
    'I5',
    /a stands in one after b/,
    (run) => {
      [getTurn(run, 'a').seq, getTurn(run, 'b').seq] = [2, 1];
    },
  ],
  [
    'a read lacks what was answered before',
    'I5',
    /lacks b, which was answered before/,
    (run) => void add(run, 30_000, ['read', { session: 'one' }], { response: { messages: ['a', 'a!'] } }),
  ],
  [
    'a read has another beginning',
    'I5',
    /no beginning of what is there/,
    (run) => void (getEnd(run, 4).response = { messages: ['b', 'b!', 'a', 'a!'] }),
  ],
  [
    'a question gets the answer of another one',
    'I5',
    /a was answered b!, not a!/,
    (run) => void (getEnd(run, 4).response = { messages: ['a', 'b!', 'b', 'b!'] }),
  ],
  [
    'a read ends with a question',
    'I5',
    /ends with a question/,
    (run) => void (getEnd(run, 4).response = { messages: ['a', 'a!', 'b', 'b!', 'a'] }),
  ],
  [
    'a reset leaves something behind',
    'I5',
    /has c from before it was emptied/,
    (run) => void (getEnd(run, 9).response = { messages: ['c', 'c!', 'd', 'd!'] }),
  ],
  [
    'a tool acts twice',
    'I6',
    /was called 2 times, by sessions-1, sessions-2/,
    (run) => {
      const call = { pid: 1, from: 1, to: 2, what: 'call', id: 'session.reset', input: { session_key: 'a' } };
      run.notes.push({ replica: 'sessions-1', ...call }, { replica: 'sessions-2', ...call });
    },
  ],
  [
    'a tool that acts is executed twice',
    'I6',
    /dev_act a\.0 was used 2 times by turn_a/,
    (run) => void run.final.executions.push({ name: 'a.0', key: 'turn_a/1/0' }),
  ],
  [
    'a tool is repeated under another key',
    'I6',
    /dev_look a\.1 was used by turn_a under turn_a\/1\/1 and turn_a\/2/,
    (run) => void run.final.executions.push({ name: 'a.1', key: 'turn_a/2' }),
  ],
  [
    'two turns of one key use a tool',
    'I6',
    /dev_act a\.0 was used by turn_a and turn_z/,
    (run) => void run.final.executions.push({ name: 'a.0', key: 'turn_z/1/0' }),
  ],
  [
    'a tool is called twice under one key',
    'I6',
    /dev\.act turn_b\/1 was called 2 times/,
    (run) => {
      const call = { pid: 1, from: 1, to: 2, what: 'call', id: 'dev.act', key: 'turn_b/1', replica: 'sessions-1' };
      run.notes.push({ ...call, input: 1 }, { ...call, input: 2 });
    },
  ],
  [
    'an event of the log is not heard',
    'I9',
    /new-3 message:sent was not heard/,
    (run) => drop(run.history, (entry) => entry === getEvent(run, 'new-3')),
  ],
  [
    'the last events are not heard',
    'I9',
    /new-4 message:sent was not heard/,
    (run) => drop(run.history, (entry) => entry === getEvent(run, 'new-4')),
  ],
  [
    'an event of the log is heard twice',
    'I9',
    /new-3 came after number 3/,
    (run) => void run.history.splice(run.history.indexOf(getEvent(run, 'new-3')), 0, { ...getEvent(run, 'new-3') }),
  ],
  [
    'events go back',
    'I9',
    /new-3 came after number 4/,
    (run) => {
      const [three, four] = [getEvent(run, 'new-3'), getEvent(run, 'new-4')];
      [three.event, four.event] = [four.event, three.event];
    },
  ],
  [
    'another log is heard and no reset',
    'I9',
    /new-2 came after old-3, and no reset between/,
    (run) => drop(run.history, (entry) => entry === events(run).find(({ event }) => event.name === 'stream:reset')),
  ],
  [
    'a reset hides what was lost before it',
    'I9',
    /old-3 message:sent was not heard/,
    (run) => drop(run.history, (entry) => entry === getEvent(run, 'old-3')),
  ],
  [
    'a reset is of a place that is long past',
    'I9',
    /a reset from old-1 came after old-3/,
    (run) => void (events(run).find(({ event }) => event.name === 'stream:reset')!.event.from = 'old-1'),
  ],
  [
    'nobody says that the log is another one',
    'I9',
    /it heard nothing of newer/,
    (run) => void run.events.push({ log: 'newer', seq: 1, name: 'message:sent', tenant: 'default' }),
  ],
  [
    'an event is another one',
    'I9',
    /which the log does not have there/,
    (run) => void (getEvent(run, 'new-3').event.name = 'agent:hot_removed'),
  ],
  ['an event is of another tenant', 'I9', /which the log does not have there/, (run) => void (getEvent(run, 'old-3').event.id = 'old-2')],
  [
    'a listener is sent away',
    'I9',
    /told not to come back: 503/,
    (run) => void add(run, 440, ['listen', { after: 'new-4' }], { failure: { code: 'STOPPED', reason: '503' } }),
  ],
  [
    'an event comes twice',
    'I9',
    /turn_b:2 came after number 2/,
    (run) => void run.history.splice(run.history.indexOf(events(run)[1]!), 0, { ...events(run)[0]! }),
  ],
  ['an event is missing', 'I9', /it said b, not b!/, (run) => drop(run.history, (entry) => entry === events(run)[1])],
  ['a stream speaks of two turns', 'I9', /events of 2 turns/, (run) => void (events(run)[1]!.event.id = 'turn_c:4')],
  [
    'a revoked token is accepted',
    'I10',
    /was accepted 9950 ms after its end/,
    (run) => void add(run, 20_000, ['use', { token: 't', rotations: 1, within: true }], { response: {} }),
  ],
  [
    'a secret that was replaced is accepted',
    'I10',
    /was accepted 9730 ms after its end/,
    (run) => void add(run, 10_000, ['use', { token: 't', rotations: 0, within: true }], { response: {} }),
  ],
  [
    'a token that holds is refused',
    'I10',
    /was refused while it held/,
    (run) => void add(run, 9_000, ['use', { token: 't', rotations: 1, within: true }], { failure: { code: 'UNAUTHENTICATED' } }),
  ],
  [
    'a token does more than it may',
    'I10',
    /not within its scopes/,
    (run) => void add(run, 230, ['use', { token: 't', rotations: 0, within: false }], { response: {} }),
  ],
  [
    'a client is refused with a token that nobody revoked',
    'I10',
    /nobody revoked/,
    (run) => void add(run, 300, turn('a', 'rpc'), { failure: { code: 'UNAUTHENTICATED' } }),
  ],
];

test('the checker reports nothing for a correct recording', () => {
  assert.deepEqual(check(goodRun()), []);
});

for (const [title, invariant, says, spoil] of SPOILED) {
  test(`the checker reports when ${title}`, () => {
    const run = goodRun();
    spoil(run);
    const matches = check(run).filter((violation) => violation.invariant === invariant);
    assert.ok(
      matches.some(({ what }) => says.test(what)),
      JSON.stringify(check(run), undefined, 2),
    );
  });
}

test('the cases above break every invariant', () => {
  assert.deepEqual([...new Set(SPOILED.map(([, invariant]) => invariant))], ['I1', 'I2', 'I3', 'I4', 'I5', 'I6', 'I9', 'I10']);
});

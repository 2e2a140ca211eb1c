import assert from 'node:assert/strict';
import type { Input, TurnFrame } from '@switchyard/contracts';
import type { Process, SimulatedBus, Watching } from '@switchyard/testkit';
import type { SessionDocument } from '../model/session-document.ts';
import type { SummaryDocument } from '../model/summary-document.ts';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { parseEntry } from '../model/queue-entry.ts';
import { countMessages } from '../model/turn-messages.ts';
import { createJoins } from './merges.fixture.ts';
import { createTrees } from './trees.fixture.ts';

/** Observes a scenario and records the first violated invariant. */
export interface Judge {
  watching: Pick<Watching, 'changed'>;
  hear(bus: SimulatedBus): void;
  /** A tool was called with an unknown outcome. Returns the name under which its effect is reported. */
  acts(turn: string, call: string, process: Process): string;
  /** All tool calls. */
  acted: string[];
  /** A tool had an effect that must not be repeated. */
  did(name: string): void;
  /** A client was told how its turns ended. */
  getPromptMessages(turns: readonly Pick<TurnDocument, 'turnId' | 'state'>[]): void;
  /** A session was reset by a client that had read it, with its content. */
  emptied(session: SessionDocument): void;
  /** Turns that were reported as accepted. */
  accepted: Set<string>;
  /** Throws the first violation. */
  check(): void;
  /** Checks the state after everything is healed and finished. */
  checkEnd(sessions: Iterable<SessionDocument>, turns: Iterable<TurnDocument>): void;
  /** A machine slept: only the guards of its writes, and not its own clock, detected the expired lease. */
  slept: boolean;
  /** The memory service received captures. */
  remembers(sent: Input<'memory.capture'>): void;
  /** Checks that every finished turn was captured. */
  checkRemembered(turns: Iterable<TurnDocument>): void;
  /** Number of summaries added to trees. */
  grown(): number;
  /** Number of expired conversations. */
  expired(): number;
  /** Number of finished auto-continued turns. */
  followed(): number;
}

/** `now` is the database clock: a lease may expire with nothing left to do under it. A conversation expires after `idleMs` of silence. */
export function createJudge(now: () => number, idleMs = Infinity): Judge {
  let wrong: Error | undefined;
  let expired = 0;
  let followed = 0;
  const entered = new Map<string, string[]>();
  const left = new Map<string, string[]>();
  const counted = new Set<string>();
  const done = new Set<string>();
  /** Size of each epoch when it ended. */
  const over = new Map<string, number>();
  const ended = new Set<string>();
  /** Turns that may leave a queue early because they have ended. */
  const cancelled = new Set<string>();
  /** Turns that reset their session when they are dequeued, and those that have done so. */
  const resets = new Set<string>();
  const hasReset = new Set<string>();
  const joins = createJoins(claim);
  const trees = createTrees(claim);
  const ends = new Map<string, string>();
  const remembered = new Map<string, string>();
  /** Current publisher of each turn, with its fence. */
  const speakers = new Map<string, { fence: number; process: Process }>();

  function claim(leases: boolean, description: string): void {
    if (!leases) wrong ??= new Error(description);
  }

  /** A delayed write may enqueue a finished turn again; the next lease holder removes it. */
  function isBack(key: string, entry: string): boolean {
    const { turnId } = parseEntry(entry);
    return ended.has(turnId) && left.get(key)?.includes(turnId) === true;
  }

  function sessionChanged(before: SessionDocument | undefined, after: SessionDocument): void {
    const { key } = after;
    const was = before?.queue ?? [];
    const candidates = after.queue.filter((entry, at) => !was.includes(entry) || after.queue.indexOf(entry) !== at);
    const went = was.filter((entry) => !after.queue.includes(entry));
    for (const entry of candidates) if (!isBack(key, entry)) note(entered, key, parseEntry(entry).turnId);
    for (const entry of went) {
      const { turnId } = parseEntry(entry);
      const early = cancelled.has(turnId) || joins.ended(turnId) || isBack(key, entry);
      if (!isBack(key, entry)) note(left, key, turnId);
      claim(entry === was[0] || early, `${entry} left ${key} before ${was[0]}`);
    }
    claim(after.queue.length === after.depth, `${key} has ${after.queue.length} entries and depth ${after.depth}`);
    claim(new Set(after.queue).size === after.queue.length, `${key} contains a turn twice`);
    claim(after.depth <= 5, `${key} holds ${after.depth}`);
    joins.seen(after);
    if (before && after.epoch === before.epoch) countedOnce(before, after, went);
    if (before && before.epoch !== after.epoch) {
      const by = went[0] === undefined ? undefined : parseEntry(went[0]).turnId;
      const expires = before.queue[0] !== undefined && went.length === 0 && isOver(before, before.queue[0]);
      if (expires) expired += 1;
      claim(before.queue.length === 0 || expires || (by !== undefined && resets.has(by)), `${key} was reset with queued turns`);
      claim(by === undefined || !hasReset.has(by), `${key} was reset twice by ${by}`);
      if (by !== undefined) hasReset.add(by);
      over.set(before.epoch, before.lastSeq);
    }
    if (before && after.owner !== before.owner) claim(after.fence > before.fence, `${key} changed its owner under one lease`);
  }

  /** The session had expired when this turn was accepted. */
  function isOver({ messageCount, updatedAt }: SessionDocument, entry: string): boolean {
    return messageCount > 0 && parseEntry(entry).acceptedAt - updatedAt >= idleMs;
  }

  function countedOnce(before: SessionDocument, after: SessionDocument, went: readonly string[]): void {
    const more = after.messageCount - before.messageCount;
    if (more === 0) return;
    if (went[0] !== undefined) claim(!isOver(before, went[0]), `${went[0]} was counted in an ended epoch`);
    const turnId = went[0] === undefined ? '' : parseEntry(went[0]).turnId;
    const merged = joins.heardBy(turnId);
    claim(more === 2 + merged.length && went.length === 1, `${after.key} counted ${more} messages for ${went.length} turns`);
    claim(after.lastSeq === before.lastSeq + 1, `${after.key} counted ${after.lastSeq} after ${before.lastSeq}`);
    for (const one of [turnId, ...merged.filter((other) => joins.ended(other))]) {
      claim(!counted.has(one), `${one} was counted twice`);
      counted.add(one);
    }
  }

  function turnChanged(before: TurnDocument | undefined, after: TurnDocument): void {
    const { turnId } = after;
    if (before && hasEnded(before)) {
      const same = before.state === after.state && before.finishedAt === after.finishedAt && before.checkpoints === after.checkpoints;
      claim(same, `${turnId} changed after its end`);
    }
    if (before) claim(after.fence >= before.fence, `${turnId} was written by an earlier lease`);
    if (after.state === 'done' && !after.effect) done.add(turnId);
    if (after.effect?.resets) resets.add(turnId);
    if (after.state === 'cancelled') cancelled.add(turnId);
    if (hasEnded(after)) ended.add(turnId);
    joins.turnChanged(before, after);
  }

  const judge: Judge = {
    accepted: new Set(),
    acted: [],
    slept: false,
    grown: () => trees.grown,
    expired: () => expired,
    followed: () => followed,
    watching: {
      changed(collection, before, after) {
        if (collection === 'sessions') {
          const [was, is] = [before, after] as unknown as [SessionDocument | undefined, SessionDocument | undefined];
          if (is) sessionChanged(was, is);
          if (is) trees.sessionChanged(was, is);
          if (was && !is) over.set(was.epoch, was.lastSeq);
          if (!is) claim(was?.queue.length === 0 && was.leaseUntil <= now(), `${was?.key} was deleted with queued turns`);
        }
        if (collection === 'summaries') {
          trees.summaryChanged(before as unknown as SummaryDocument | undefined, after as unknown as SummaryDocument | undefined);
        }
        if (collection === 'turns' && after) {
          turnChanged(before as TurnDocument | undefined, after as unknown as TurnDocument);
        }
      },
    },
    hear(bus) {
      bus.receivedMessages.push((subject, data, process) => {
        const frame = JSON.parse(data) as TurnFrame;
        if (frame.fence === undefined || frame.type === 'done' || frame.type === 'error') return;
        const id = subject.split('.').at(-1) ?? '';
        const speaker = speakers.get(id);
        if (!judge.slept)
          claim(!speaker || speaker.fence <= frame.fence, `${process.name} speaks for ${id} after ${speaker?.process.name}`);
        if (!speaker || speaker.fence < frame.fence) speakers.set(id, { fence: frame.fence, process });
      });
    },
    acts(turn, call, process) {
      judge.acted.push(`${turn} ${call}`);
      // A retry under the same key may have another turn id.
      const isIt = (id: string): boolean => id.startsWith(`${turn}x`) || id.startsWith(`${turn}again`);
      // A turn acts for the turns that it has merged; a turn merged several times is published by each lead in turn.
      const may = [...speakers].filter(([id]) => isIt(id) || joins.heardBy(id).some(isIt)).map(([, speaker]) => speaker.process);
      if (!judge.slept)
        claim(may.includes(process), `${process.name} acts in ${turn}, call ${call}, which ${may.map(({ name }) => name).join()} runs`);
      // A cancelled lead may have called a tool for a merged turn, which now runs on its own.
      return `${turn} ${call} ${joins.freed(turn)}`;
    },
    getPromptMessages(turns) {
      for (const { turnId, state } of turns) claim(hasEnded({ state }), `${turnId} was reported as ended and is ${state}`);
      for (const { turnId, state } of turns) ends.set(turnId, state);
    },
    remembers({ captured }) {
      for (const { turnId, content } of captured) {
        claim((remembered.get(turnId) ?? content) === content, `${turnId} was captured in two ways`);
        claim(done.has(turnId), `${turnId} was captured and is not done`);
        remembered.set(turnId, content);
      }
    },
    checkRemembered(turns) {
      for (const { turnId, seq } of turns) assert.equal(remembered.has(turnId), seq !== undefined, `capture of ${turnId}`);
    },
    emptied: ({ key, epoch, lastSeq }) => claim(over.get(epoch) === lastSeq, `${key} lost more than the reset reported`),
    did(name) {
      claim(!counted.has(name), `${name} was done twice`);
      counted.add(name);
    },
    check() {
      if (wrong) throw wrong;
    },
    checkEnd(sessions, turns) {
      const all = [...turns];
      const uncancelled = (ids: readonly string[] = []): string[] => ids.filter((turnId) => !cancelled.has(turnId) && !joins.ended(turnId));
      for (const [key, order] of entered) assert.deepEqual(uncancelled(left.get(key)), uncancelled(order), `the order of ${key}`);
      for (const { turnId, state } of all) assert.equal(ends.get(turnId) ?? state, state, `reported end of ${turnId}`);
      for (const { turnId, state } of all) assert.ok(hasEnded({ state }), `${turnId} is ${state}`);
      for (const turnId of judge.accepted)
        assert.ok(
          all.some((turn) => turn.turnId === turnId),
          `${turnId} was accepted and is missing`,
        );
      for (const turnId of resets) assert.ok(hasReset.has(turnId), `${turnId} reset nothing`);
      for (const turnId of done) assert.ok(counted.has(turnId), `${turnId} is done and was never counted`);
      const keys = all.flatMap(({ idempotencyKey }) => idempotencyKey ?? []);
      assert.equal(new Set(keys).size, keys.length, 'two turns have the same key');
      for (const session of sessions) {
        checkSession(session, all);
        trees.checkEnd(session, all);
      }
      joins.checkEnd(all);
      followed = checkFollowing(all);
    },
  };
  return judge;
}

/** Records the first time that a turn enters or leaves a session. */
function note(lists: Map<string, string[]>, key: string, turnId: string): void {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  if (!list.includes(turnId)) list.push(turnId);
}

/** Checks that every continuation directly followed its turn, before any message, and within the allowed number. */
function checkFollowing(turns: readonly TurnDocument[]): number {
  const following = turns.flatMap(({ continuationOf, ...turn }) =>
    continuationOf && turn.state === 'done' ? [{ ...turn, follows: continuationOf }] : [],
  );
  for (const { turnId, epoch, seq, follows } of following) {
    assert.deepEqual([epoch, seq], [follows.epoch, follows.seq + 1], `${turnId} follows ${follows.turnId}`);
    assert.ok(follows.run <= 3, `${turnId} is number ${follows.run}`);
    const before = turns.find((turn) => turn.turnId === follows.turnId);
    if (before) assert.equal(before.finishReason, 'context_exhausted', `${turnId} follows ${follows.turnId}`);
  }
  assert.equal(new Set(following.map(({ follows }) => follows.turnId)).size, following.length, 'a turn was continued twice');
  return following.length;
}

function checkSession(
  { key, queue, leaseUntil, waitsFor, epoch, lastSeq, messageCount }: SessionDocument,
  turns: readonly TurnDocument[],
): void {
  assert.deepEqual({ queue, leaseUntil, waitsFor }, { queue: [], leaseUntil: 0, waitsFor: undefined }, key);
  const history = turns.filter((turn) => turn.sessionKey === key && turn.seq !== undefined && turn.epoch === epoch);
  const messages = history.reduce((sum, turn) => sum + countMessages(turn), 0);
  assert.equal(messageCount, messages, `counted history of ${key}`);
  assert.ok(history.every(({ seq = Infinity }) => seq <= lastSeq));
  assert.equal(new Set(history.map(({ seq }) => seq)).size, history.length, `numbers of ${key}`);
}

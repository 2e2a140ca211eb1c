import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { subjects, TurnFrame } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { mintId } from '@switchyard/security';
import { startService } from '@switchyard/service-kit';
import { openStore } from '@switchyard/store';
import { principal, type TestService } from '@switchyard/testkit';
import { sessionCollection } from './model/session-document.ts';
import { turnCollection } from './model/turn-document.ts';
import { loadTexts } from './model/stored-text.ts';
import { bodyCollection } from './model/text-document.ts';
import { countMessages } from './model/turn-messages.ts';
import { defineSessions, type SessionsTiming } from './service.ts';
import { testSessions } from './sessions.fixture.ts';

interface Received {
  sessionKey: string | undefined;
  frames: TurnFrame[];
}

/** One run of the service with all published frames. Ends with a shutdown or a crash. */
export interface Life extends AsyncDisposable {
  app: TestService;
  receivedMessages: Map<string, Received>;
  /** Whether leases may expire during work, as short ones do on a busy machine. */
  mayLapse: boolean;
  /** Turns that ran concurrently in one session. Collected, because a listener cannot throw. */
  overlaps: string[];
  /** Copies the files as a killed process would leave them, and stops listening. */
  crash(to: string): void;
}

export interface LifeOptions {
  data: string;
  replicas: number;
  timing: SessionsTiming;
}

const SETTINGS = { queue: { maxConcurrentSessions: 3, defaultOverflow: { maxDepth: 5 } }, daemon: { shutdownTimeoutMs: 1_200 } };
export const AGENTS = {
  default: { concurrency: { maxConcurrentRuns: 2 } },
  scripted: { model: 'dev/scripted', concurrency: { maxConcurrentRuns: 2 } },
  flaky: { model: 'dev/flaky' },
  doomed: { model: 'dev/scripted' },
};

export async function beginLife({ data, replicas, timing }: LifeOptions): Promise<Life> {
  await using starting = new AsyncDisposableStack();
  const heard = new Map<string, Received>();
  const overlaps: string[] = [];
  const onMessage = hearing(heard, overlaps);
  let over = false;
  const app = starting.use(await testSessions({ as: principal(), data, agents: AGENTS, settings: SETTINGS, timing }));
  app.host.bus.subscribe(subjects.turns, (message) => {
    if (!over) onMessage(message.subject.split('.').at(-1) ?? '', TurnFrame.parse(JSON.parse(Buffer.from(message.data).toString())));
  });
  for (let n = 1; n < replicas; n += 1) starting.use(await startService(defineSessions(timing), app.host));
  const started = starting.move();
  return {
    app,
    receivedMessages: heard,
    mayLapse: timing.leaseMs !== undefined,
    overlaps,
    crash(to) {
      over = true;
      cpSync(data, to, { recursive: true });
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

function hearing(heard: Life['receivedMessages'], overlaps: string[]): (turnId: string, frame: TurnFrame) => void {
  const busy = new Map<string, string>();
  return (turnId, frame) => {
    const known = heard.get(turnId) ?? { sessionKey: undefined, frames: [] };
    heard.set(turnId, known);
    if (frame.type === 'accepted') known.sessionKey = frame.sessionKey;
    known.frames.push(frame);
    const lane = known.sessionKey ?? turnId;
    const holder = busy.get(lane);
    if (frame.type === 'step' || frame.type === 'resumed') {
      if (holder !== undefined && holder !== turnId) overlaps.push(`${turnId} beside ${holder} in ${lane}`);
      busy.set(lane, turnId);
    }
    if (isEnd(frame.type) && holder === turnId) busy.delete(lane);
  };
}

function isEnd(type: TurnFrame['type']): boolean {
  return type === 'done' || type === 'error';
}

/** Reads all documents after the service has stopped. */
export async function readData(data: string) {
  const store = await openStore(`sqlite:${join(data, 'store')}`, { service: 'sessions' });
  const opened = await store.open({ sessions: sessionCollection, turns: turnCollection, bodies: bodyCollection });
  const mine = { tenant: 'default' };
  const all = { limit: 100_000 };
  const [sessions, turns] = await Promise.all([opened.sessions.for(mine).find({}, all), opened.turns.for(mine).find({}, all)]);
  const named = turns.items.flatMap(({ turnId, message, answer }) =>
    [message, answer].flatMap((content) => (content ? [{ turnId, content }] : [])),
  );
  // Fails if a text is missing.
  await loadTexts(opened.bodies.for(mine), named);
  await store.close();
  return { sessions: sessions.items, turns: turns.items };
}

export type Data = Awaited<ReturnType<typeof readData>>;

/** Knowledge of the clients: replies and request order. */
export interface Ledger {
  /** Turns that were reported as accepted. */
  accepted: Set<string>;
  /** Turns that were accepted before the request of this one. */
  before: Map<string, readonly string[]>;
  /** Turn of each idempotency key. */
  keys: Map<string, string>;
}

export function newLedger(): Ledger {
  return { accepted: new Set(), before: new Map(), keys: new Map() };
}

/**
 * Checks the frames of a run: one turn at a time per session, no gaps except after a takeover, one end and nothing after it. Text that an
 * expired runner did not publish is read from the document.
 */
export function checkFrames({ receivedMessages: heard, mayLapse, overlaps }: Life): void {
  assert.deepEqual(overlaps, []);
  for (const [turnId, { frames: all }] of heard) {
    // Drops repeated frames as readers do.
    const frames = all.filter(({ n }, at) => all.slice(0, at).every((earlier) => earlier.n < n));
    const isFilled = ({ type }: TurnFrame): boolean => type === 'resumed' || (mayLapse && isEnd(type));
    const gaps = frames.filter((frame, at) => at > 0 && !isFilled(frame) && frame.n !== (frames[at - 1]?.n ?? 0) + 1);
    assert.deepEqual(gaps, [], `${turnId}: ${JSON.stringify(frames)}`);
    const ends = frames.flatMap(({ type }, at) => (isEnd(type) ? [at] : []));
    assert.ok(ends.length === 0 || (ends.length === 1 && ends[0] === frames.length - 1), `${turnId} ends ${ends.length} times`);
  }
}

/** Checks that every end was published with the number stored in the turn document. */
export function checkEnds(heard: Life['receivedMessages'], { turns }: Data): void {
  for (const { turnId, lastFrame } of turns) {
    const frames = heard.get(turnId)?.frames;
    if (frames?.[0]?.n === 0) assert.equal(frames.at(-1)?.n, lastFrame, `${turnId}: ${JSON.stringify(frames)}`);
  }
}

/** Checks the documents when nothing runs. */
export function checkData({ sessions, turns }: Data, ledger: Ledger): void {
  const byId = new Map(turns.map((turn) => [turn.turnId, turn]));
  for (const turnId of ledger.accepted) assert.ok(byId.has(turnId), `${turnId} was accepted and is not there`);
  for (const { turnId, state } of turns) assert.ok(state !== 'queued' && state !== 'running', `${turnId} is ${state}`);
  for (const session of sessions) {
    const { key, queue, depth, leaseUntil, waitsFor, messageCount, epoch, lastSeq } = session;
    assert.deepEqual({ queue, depth, leaseUntil, waitsFor }, { queue: [], depth: 0, leaseUntil: 0, waitsFor: undefined }, key);
    const counts = turns.filter((turn) => turn.sessionKey === key && turn.seq !== undefined && turn.epoch === epoch);
    const messages = counts.reduce((sum, turn) => sum + countMessages(turn), 0);
    assert.equal(messageCount, messages, `the messages of ${key}`);
    assert.ok(
      counts.every(({ seq = Infinity }) => seq <= lastSeq),
      `a turn of ${key} is not counted`,
    );
    assert.equal(new Set(counts.map(({ seq }) => seq)).size, counts.length, `two turns of ${key} have one number`);
  }
  const keys = turns.flatMap(({ idempotencyKey }) => idempotencyKey ?? []);
  assert.equal(new Set(keys).size, keys.length, 'an idempotency key has two turns');
  checkOrder(byId, ledger);
}

function checkOrder(byId: Map<string, Data['turns'][number]>, { before }: Ledger): void {
  for (const [turnId, earlier] of before) {
    const turn = byId.get(turnId);
    for (const other of earlier.map((id) => byId.get(id))) {
      if (turn?.state !== 'done' || other?.state !== 'done') continue;
      assert.ok((other.finishedAt ?? 0) <= (turn.finishedAt ?? 0), `${turnId} overtook ${other.turnId}`);
    }
  }
}

/** A client that records its replies. */
export function asClient(bus: Bus, client: string): Bus {
  return bus.as(principal({ client, scopes: ['*'] }));
}

export function newTurnId(): string {
  return mintId('turn');
}

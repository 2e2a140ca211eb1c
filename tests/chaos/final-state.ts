import { setTimeout as sleep } from 'node:timers/promises';
import { openStore, type Collection } from '@switchyard/store';
import { sessionCollection, type SessionDocument } from '../../services/sessions/src/model/session-document.ts';
import { turnCollection, type TurnDocument } from '../../services/sessions/src/model/turn-document.ts';
import { loadTexts } from '../../services/sessions/src/model/stored-text.ts';
import { bodyCollection, type BodyDocument } from '../../services/sessions/src/model/text-document.ts';
import { executionCollection } from '../../services/sessions/src/handlers/dev-tools.ts';
import { getChannel } from '../../services/sessions/src/model/session-key.ts';

const POLL_MS = 200;
const ALL = { limit: 1_000_000 };
const TENANT = { tenant: 'default' };
const AT_ONCE = 500;

export interface FinalTurn {
  turnId: string;
  session: string;
  message: string;
  response?: string;
  state: string;
  fence: number;
  attempts: number;
  seq?: number;
  epoch?: string;
  failure?: string;
}

export interface FinalSession {
  /** Its channel, by which clients address it. */
  session: string;
  key: string;
  epoch: string;
  depth: number;
  leaseUntil: number;
  waitsFor?: string;
  lastSeq: number;
  messageCount: number;
}

/** An execution of a counted tool, with the key of its call. */
export interface Executed {
  name: string;
  key: string;
}

/** The stored state after all faults have ended. */
export interface Final {
  /** Unfinished work when the wait ended; empty if everything finished. */
  left: string[];
  sessions: FinalSession[];
  turns: FinalTurn[];
  /** For all runs on this database. */
  executions: Executed[];
}

export interface ReadFinal {
  /** URL of the database. */
  url: string;
  /** Prefix of the sessions to read. */
  prefix: string;
  patienceMs: number;
}

/** Waits until all work is finished, or until the timeout, and reads the state directly from the database. */
export async function readFinal({ url, prefix, patienceMs }: ReadFinal): Promise<Final> {
  const store = await openStore(url, { service: 'sessions' });
  const data = await store.open({
    sessions: sessionCollection,
    turns: turnCollection,
    bodies: bodyCollection,
    executions: executionCollection,
  });
  try {
    const remainingItems = await awaitQuiet(data, prefix, patienceMs);
    const sessions = (await data.sessions.for(TENANT).find({}, ALL)).items.filter(({ channelId }) => channelId.startsWith(prefix));
    const turns = (await data.turns.for(TENANT).find({}, ALL)).items.filter(({ sessionKey }) => getChannel(sessionKey).startsWith(prefix));
    const executions = (await data.executions.for(TENANT).find({}, ALL)).items.map(({ name, key }) => ({ name, key }));
    return { left: remainingItems, sessions: sessions.map(toSession), turns: await withTexts(data.bodies, turns), executions };
  } finally {
    await store.close();
  }
}

interface Data {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
}

async function awaitQuiet({ sessions, turns }: Data, prefix: string, patienceMs: number): Promise<string[]> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const mine = sessions.for(TENANT);
    const [open, waiting, held] = await Promise.all([
      turns.for(TENANT).find({ state: { in: ['queued', 'running'] } }, ALL),
      mine.find({ depth: { gt: 0 } }, ALL),
      mine.find({ leaseUntil: { gt: 0 } }, ALL),
    ]);
    const mineAlone = ({ sessionKey }: TurnDocument): boolean => getChannel(sessionKey).startsWith(prefix);
    const here = ({ channelId }: SessionDocument): boolean => channelId.startsWith(prefix);
    const left = [
      ...open.items
        .filter(mineAlone)
        .map(({ turnId, state, fence, attempts }) => `${turnId} is ${state}, fence ${fence}, attempt ${attempts}`),
      ...waiting.items.filter(here).map(({ key, depth }) => `${key} has ${depth} in its queue`),
      ...held.items.filter(here).map(({ key, owner }) => `${key} is held by ${owner}`),
    ];
    if (left.length === 0 || performance.now() > deadline) return left;
    await sleep(POLL_MS);
  }
}

function toSession({ channelId: session, key, epoch, depth, leaseUntil, waitsFor, lastSeq, messageCount }: SessionDocument): FinalSession {
  return { session, key, epoch, depth, leaseUntil, lastSeq, messageCount, ...(waitsFor === undefined ? {} : { waitsFor }) };
}

async function withTexts(bodies: Collection<BodyDocument>, turns: readonly TurnDocument[]): Promise<FinalTurn[]> {
  const all: FinalTurn[] = [];
  for (let at = 0; at < turns.length; at += AT_ONCE) {
    const some = turns.slice(at, at + AT_ONCE);
    const nothing = { chars: 0, text: '' };
    const quoted = some.flatMap(({ turnId, message, answer = nothing }) => [
      { turnId, content: message },
      { turnId, content: answer },
    ]);
    const texts = await loadTexts(bodies.for(TENANT), quoted);
    all.push(...some.map((turn, nth) => toTurn(turn, texts[nth * 2] ?? '', texts[nth * 2 + 1] ?? '')));
  }
  return all;
}

function toTurn(
  { turnId, sessionKey, state, fence, attempts, seq, epoch, answer, failure }: TurnDocument,
  message: string,
  content: string,
): FinalTurn {
  return {
    turnId,
    session: getChannel(sessionKey),
    message,
    state,
    fence,
    attempts,
    ...(answer === undefined ? {} : { response: content }),
    ...(seq === undefined ? {} : { seq }),
    ...(epoch === undefined ? {} : { epoch }),
    ...(failure === undefined ? {} : { failure: [failure.code, failure.details?.reason].join(' ').trim() }),
  };
}

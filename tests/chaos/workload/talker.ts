import { setTimeout as sleep } from 'node:timers/promises';
import { dice, type Dice } from '@switchyard/testkit';
import type { History } from '../history.ts';
import type { Doors } from './doors.ts';
import { attempt } from './outcome.ts';
import { questionFor, type Question } from './question.ts';

/** Turns per session. The history is read repeatedly, so sessions stay short. */
const TURNS_A_SESSION = 30;
const AGAIN_MS = 150;
/** Share of answered questions whose key is reused with another message. */
const REUSED = 0.03;
/** Probability of a session reset after a question. */
const EMPTIED = 0.2;

export interface Talking {
  doors: Doors;
  history: History;
  /** Aborts when no new question may start. Open ones are retried until their outcome is known. */
  signal: AbortSignal;
  /** Aborts when all requests must stop. */
  over: AbortSignal;
}

/** A series of sessions with an agent. */
export interface Topic {
  name: string;
  agent: string;
  /** Whether its session is reset at times. */
  emptied: boolean;
}

export interface Talker extends Talking {
  seed: number;
  name: string;
  /** Its topics, which other talkers may share. */
  topics: readonly Topic[];
}

/** A client that sends questions and retries until outcomes are known. At times it reads the history or resets a session. */
export async function talk({ seed, name, topics, ...talking }: Talker): Promise<void> {
  const random = dice(seed);
  for (let n = 0; !talking.signal.aborted; n += 1) {
    const topic = random.of(topics);
    const { agent } = topic;
    const session = `${topic.name}.${Math.floor(n / TURNS_A_SESSION)}`;
    const question = questionFor({ random, name: `${name}-${n}`, session, agent });
    const emptied = topic.emptied && random.chance(EMPTIED);
    const isAnswered = await sendRequest(talking, name, question, random);
    if (isAnswered && random.chance(0.4)) await read(talking, name, session);
    if (isAnswered && question.key !== undefined && random.chance(REUSED)) await reuse(talking, name, question);
    if (emptied) await empty(talking, name, session, agent);
    await sleep(20 + random.below(200));
  }
}

/** Sends a question once without a key, else until its outcome is known. Returns whether it was answered. */
export async function sendRequest({ doors, history, over }: Talking, client: string, question: Question, random: Dice): Promise<boolean> {
  const { doors: ways, ...request } = question;
  while (!over.aborted) {
    const attempted = { ...request, door: random.of(ways) };
    const trying = history.begin(client, 'turn', attempted);
    const outcome = await Promise.race([attempt(trying, () => doors.turn(attempted, trying)), whenAborted(over)]);
    if (outcome && outcome.failure?.code !== 'RESOURCE_EXHAUSTED') return outcome.response !== undefined;
    if (question.key === undefined) return false;
    await sleep(AGAIN_MS + random.below(AGAIN_MS));
  }
  return false;
}

/** Operations that still run then have an unknown outcome. */
function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

async function read({ doors, history }: Talking, client: string, session: string): Promise<void> {
  await attempt(history.begin(client, 'read', { session }), async () => {
    const { messages } = await doors.call('session.history', { channelId: session });
    return { messages: messages.map(({ content }) => content) };
  });
}

async function reuse({ doors, history }: Talking, client: string, question: Question): Promise<void> {
  const { key = '', doors: ways, message, ...rest } = question;
  const door = ways[0] ?? 'rpc';
  const other = { ...rest, key, door, message: JSON.stringify([{ text: `${message} otherwise` }]) };
  const trying = history.begin(client, 'reuse', { key, message: other.message, door });
  const silent = { ok: () => undefined, failed: () => undefined, unknown: () => undefined, heard: () => undefined };
  await attempt(trying, () => doors.turn({ ...other, door: door === 'chat' ? 'chat' : 'rpc' }, silent));
}

async function empty({ doors, history }: Talking, client: string, session: string, agent: string): Promise<void> {
  const session_key = `${agent === 'default' ? '' : `agent:${agent}:`}default:env:${session}`;
  await attempt(history.begin(client, 'reset', { session }), () => doors.call('session.reset', { session_key }));
}

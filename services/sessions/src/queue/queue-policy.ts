import type { Settings } from '@switchyard/service-kit';
import type { TurnDocument } from '../model/turn-document.ts';
import { channelKind, channelOf } from '../model/session-key.ts';

type Queue = Settings<'queue'>['current']['queue'];

/** What becomes of a turn that comes while another one of its session runs. */
export type QueueMode = Queue['defaultMode'];

/** How many turns may wait behind the one that runs, and what becomes of one more. */
export type Overflow = Queue['defaultOverflow'];

export function queueMode(queue: Queue, sessionKey: string): QueueMode {
  return ofChannel(queue.perChannel, sessionKey)?.mode ?? queue.defaultMode;
}

/** Names a queue and the agent that works on it. */
export type Queued = Pick<TurnDocument, 'sessionKey' | 'agentId'>;

/** `mostOfAgent` is what may wait of the agent in one session. Where nothing queues, who comes to a turn that runs is refused. */
export function overflowOf(queue: Queue, sessionKey: string, mostOfAgent = Infinity): Overflow {
  if (!queue.enabled) return { maxDepth: 0, policy: 'drop-new' };
  const { maxDepth, policy } = ofChannel(queue.perChannel, sessionKey)?.overflow ?? queue.defaultOverflow;
  return { maxDepth: Math.min(maxDepth, mostOfAgent), policy };
}

/** How what is said in quick succession becomes one turn. */
export type Debounce = Queue['debounce'];

/** Undefined where every message has its turn as soon as it comes. What is said of a channel at length wins over its `debounceMs`. */
export function debounceOf(
  { debounce, defaultDebounceMs, perChannel, perChannelDebounce }: Queue,
  sessionKey: string,
): Debounce | undefined {
  const own = ofChannel(perChannelDebounce, sessionKey);
  const { maxBufferedMessages, firstMessageImmediate } = own ?? debounce;
  const windowMs = own?.windowMs ?? (ofChannel(perChannel, sessionKey)?.debounceMs || debounce.windowMs || defaultDebounceMs);
  return windowMs === 0 ? undefined : { windowMs, maxBufferedMessages, firstMessageImmediate };
}

/** What is said of the session's channel (`telegram:42`), else of its kind (`telegram`). */
function ofChannel<T>(perChannel: Readonly<Record<string, T>>, sessionKey: string): T | undefined {
  if (isEmpty(perChannel)) return undefined;
  const channel = channelOf(sessionKey);
  const kind = channelKind(channel);
  // A channel may have any name, also one that every object has.
  const named = [channel, kind].find((name) => Object.hasOwn(perChannel, name));
  return named === undefined ? undefined : perChannel[named];
}

/** Asked several times in each turn: keys are taken apart only where something is said of channels. */
function isEmpty(record: object): boolean {
  for (const _ in record) return false;
  return true;
}

import type { Settings } from '@switchyard/service-kit';
import type { TurnDocument } from '../model/turn-document.ts';
import { channelKind, getChannel } from '../model/session-key.ts';

type Queue = Settings<'queue'>['current']['queue'];

/** Handling of a turn that arrives while another turn of its session runs. */
export type QueueMode = Queue['defaultMode'];

/** Maximum number of waiting turns, and the handling of one more. */
export type Overflow = Queue['defaultOverflow'];

export function getQueueMode(queue: Queue, sessionKey: string): QueueMode {
  return channelSetting(queue.perChannel, sessionKey)?.mode ?? queue.defaultMode;
}

/** Session queue and the agent that works on it. */
export type QueuedTurnRef = Pick<TurnDocument, 'sessionKey' | 'agentId'>;

/**
 * `maxPerAgent` limits the waiting turns of the agent in one session. With the queue disabled, a turn that arrives while another one runs
 * is rejected.
 */
export function getOverflow(queue: Queue, sessionKey: string, maxPerAgent = Infinity): Overflow {
  if (!queue.enabled) return { maxDepth: 0, policy: 'drop-new' };
  const { maxDepth, policy } = channelSetting(queue.perChannel, sessionKey)?.overflow ?? queue.defaultOverflow;
  return { maxDepth: Math.min(maxDepth, maxPerAgent), policy };
}

/** Debounce settings of a session. */
export type Debounce = Queue['debounce'];

/** Undefined when messages are not debounced. `perChannelDebounce` takes precedence over `debounceMs` of `perChannel`. */
export function getDebounce(
  { debounce, defaultDebounceMs, perChannel, perChannelDebounce }: Queue,
  sessionKey: string,
): Debounce | undefined {
  const own = channelSetting(perChannelDebounce, sessionKey);
  const { maxBufferedMessages, firstMessageImmediate } = own ?? debounce;
  const windowMs = own?.windowMs ?? (channelSetting(perChannel, sessionKey)?.debounceMs || debounce.windowMs || defaultDebounceMs);
  return windowMs === 0 ? undefined : { windowMs, maxBufferedMessages, firstMessageImmediate };
}

/** Returns the setting of the session's channel (`telegram:42`), otherwise of its type (`telegram`). */
function channelSetting<T>(perChannel: Readonly<Record<string, T>>, sessionKey: string): T | undefined {
  if (isEmpty(perChannel)) return undefined;
  const channel = getChannel(sessionKey);
  const kind = channelKind(channel);
  // Channel names may equal names of object properties such as `constructor`.
  const named = [channel, kind].find((name) => Object.hasOwn(perChannel, name));
  return named === undefined ? undefined : perChannel[named];
}

/** Called several times per turn. Avoids parsing the session key when no channel has settings. */
function isEmpty(record: object): boolean {
  for (const _ in record) return false;
  return true;
}

import type { Settings } from '@switchyard/service-kit';
import { channelOf } from './session-key.ts';

type Queue = Settings<'queue'>['current']['queue'];

/** What becomes of a turn that comes while another one of its session runs. */
export type QueueMode = Queue['defaultMode'];

/** What is said of the session's channel (`telegram:42`), else of its kind (`telegram`), else of all. */
export function queueMode({ perChannel, defaultMode }: Queue, sessionKey: string): QueueMode {
  const channel = channelOf(sessionKey);
  const [kind = channel] = channel.split(':');
  // A channel may have any name, also one that every object has.
  const named = [channel, kind].find((name) => Object.hasOwn(perChannel, name));
  return (named === undefined ? undefined : perChannel[named]?.mode) ?? defaultMode;
}

import { LIMIT_FINISH_REASONS, type EventPayload } from '@switchyard/contracts';

type EndedTurn = EventPayload<'turn:ended'>;

/** Finish reasons of turns that a limit ended before they were complete. */
const DEGRADED_FINISHES: ReadonlySet<string> = new Set<NonNullable<EndedTurn['finishReason']>>([...LIMIT_FINISH_REASONS, 'error']);

/** Names the error of a turn that ended badly: the reason of its failure, or the limit that ended it. */
export function describeError({ state, failure, finishReason }: EndedTurn): string | undefined {
  if (state === 'failed') return failure?.reason ?? failure?.code ?? 'INTERNAL';
  if (state === 'cancelled') return undefined;
  return finishReason !== undefined && DEGRADED_FINISHES.has(finishReason) ? finishReason : undefined;
}

/** Channels whose sessions are tests and benchmarks. */
const SYNTHETIC_CHANNEL = /^(?:test|bench)(?::|$)/;

export function isSynthetic(channelId: string): boolean {
  return SYNTHETIC_CHANNEL.test(channelId);
}

/** A part of a session key that follows its channel. */
const LABELED_PART = /:(?:peer|guild|thread):/;

/**
 * Returns the channel of a session key, which is
 * `[agent:<id>:]<tenant>:<user>:<channel>[:peer:<p>][:guild:<g>][:thread:<t>]` with escaped colons in its parts.
 */
export function getChannel(sessionKey: string): string {
  const key = sessionKey.replace(/^agent:[^:]+:(?=[^:]*:[^:]*:)/, '');
  const channel = key.split(':').slice(2).join(':');
  const end = channel.search(LABELED_PART);
  return (end === -1 ? channel : channel.slice(0, end)).replaceAll('%3A', ':').replaceAll('%25', '%');
}

import { servicePrincipal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { TurnDocument } from '../../model/turn-document.ts';
import { getChannel } from '../../model/session-key.ts';
import { truncateText } from '../../frames/frame-splitting.ts';

/**
 * Emits `message:streaming` whenever text is checkpointed, so short answers cause no event. Delivery is best effort; complete text is in
 * the frames.
 */
export function emitStreamingEvent(
  bus: Bus,
  tenant: string,
  turn: TurnDocument,
  { delta, accumulated }: { delta: string; accumulated: string },
): void {
  bus.as(servicePrincipal('sessions', tenant)).emit('message:streaming', {
    channelId: getChannel(turn.sessionKey),
    messageId: `${turn.turnId}/1`,
    delta: truncateText(delta),
    accumulated: truncateText(accumulated),
  });
}

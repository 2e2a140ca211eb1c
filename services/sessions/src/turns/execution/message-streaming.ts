import { servicePrincipal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { TurnDocument } from '../../model/turn-document.ts';
import { channelOf } from '../../model/session-key.ts';
import { excerptOf } from '../../frames/frame-splitting.ts';

/**
 * What a turn says on the way, for whoever looks on: as often as its text is kept, so that a short answer is told as a whole alone.
 * May be lost; who needs every word reads the frames of the turn.
 */
export function tellPiece(
  bus: Bus,
  tenant: string,
  turn: TurnDocument,
  { delta, accumulated }: { delta: string; accumulated: string },
): void {
  bus.as(servicePrincipal('sessions', tenant)).emit('message:streaming', {
    channelId: channelOf(turn.sessionKey),
    messageId: `${turn.turnId}/1`,
    delta: excerptOf(delta),
    accumulated: excerptOf(accumulated),
  });
}

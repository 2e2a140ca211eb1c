import type { OutboxEvent } from '@switchyard/store';
import type { TurnDocument } from '../../model/turn-document.ts';
import { sessionKeyObject } from '../../sessions/new-session.ts';
import type { SessionIdentity } from '../../model/session-key.ts';
import { truncateText } from '../../frames/frame-splitting.ts';

/** Builds the event that is emitted with the acceptance of a turn. */
export function receivedEvent(turn: TurnDocument, text: string, identity: SessionIdentity): OutboxEvent {
  return {
    name: 'message:received',
    payload: {
      message: {
        id: turn.turnId,
        channelId: identity.channelId,
        channelType: identity.channelId,
        senderId: turn.client,
        text: truncateText(text),
        timestamp: turn.createdAt,
        attachments: [],
        metadata: {},
      },
      sessionKey: sessionKeyObject(identity),
    },
  };
}

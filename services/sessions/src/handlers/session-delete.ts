import type { Bus, Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { MessageDocument, SessionDocument } from '../data.ts';
import { history } from '../sessions/directory.ts';
import { lostHold, type Emptying } from '../sessions/emptying.ts';

/** What an answer needs around its transcript. */
const ENVELOPE_BYTES = 16_384;

export interface SessionDeleteDeps {
  sessions: Collection<SessionDocument>;
  messages: Collection<MessageDocument>;
  bus: Pick<Bus, 'maxPayload'>;
  emptying: Emptying;
}

/** Removes a session and its messages; the transcript is in this answer and nowhere else. */
export function sessionDelete({ sessions, messages, bus, emptying }: SessionDeleteDeps): Handler<'session.delete'> {
  return ({ session_key }, { principal }) =>
    emptying(principal, session_key, async (session, holder) => {
      const { key, metadata } = session;
      const said = await history(messages.for(principal), session);
      const transcript = { messages: said, metadata, messageCount: said.length };
      if (Buffer.byteLength(JSON.stringify(transcript)) > bus.maxPayload - ENVELOPE_BYTES) {
        throw new ServiceError(
          'FAILED_PRECONDITION',
          'The transcript is larger than one answer can be. Empty the session first: session.reset.',
          {
            details: { reason: 'PAYLOAD_TOO_LARGE' },
          },
        );
      }
      await messages.for(principal).remove({ sessionKey: key });
      const removed = await sessions.for(principal).remove({ key, activeTurn: holder });
      if (removed === 0) throw lostHold();
      return { sessionKey: key, deleted: true, transcript };
    });
}

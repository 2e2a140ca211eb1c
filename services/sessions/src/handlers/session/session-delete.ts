import type { Bus, Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { loadHistory, type HistoryDeps } from '../../sessions/session-directory.ts';
import { CONVERSATION_BYTES, type LoadBudget } from '../../sessions/load-budget.ts';
import type { ResetSession } from '../../sessions/session-reset.ts';

/** Bytes of the reply besides the transcript. */
const ENVELOPE_BYTES = 16_384;

export interface SessionDeleteDeps extends HistoryDeps {
  bus: Pick<Bus, 'maxPayload'>;
  emptying: ResetSession;
  loads: LoadBudget;
}

/** Deletes a session and its messages. The reply contains the only remaining copy of the transcript. */
export function sessionDelete({ bus, emptying, loads, ...reading }: SessionDeleteDeps): Handler<'session.delete'> {
  return ({ session_key }, { principal, signal }) =>
    emptying(principal, session_key, async (session, idle) => {
      const { key, metadata } = session;
      using _held = await loads.take(principal, CONVERSATION_BYTES, signal);
      const texts = await loadHistory(reading, principal, session);
      const transcript = { messages: texts, metadata, messageCount: texts.length };
      if (Buffer.byteLength(JSON.stringify(transcript)) > bus.maxPayload - ENVELOPE_BYTES) {
        throw new ServiceError(
          'FAILED_PRECONDITION',
          'The transcript is too large for one response. Reset the session first with session.reset.',
          {
            details: { reason: 'PAYLOAD_TOO_LARGE' },
          },
        );
      }
      const removed = await reading.sessions.for(principal).remove(idle);
      return { done: removed > 0, result: { sessionKey: key, deleted: true, transcript } };
    });
}

import { ServiceError } from '@switchyard/contracts';
import { parseTraceparent, type Logger } from '@switchyard/telemetry';
import type { TurnDocument } from '../../model/turn-document.ts';

const MAX_TEXT = 500;

/** Logs why a turn failed, under the turn id that its client was given. */
export function logFailedTurn(log: Logger, tenant: string, { turn, error }: { turn: TurnDocument; error: unknown }): void {
  const { turnId, sessionKey, agentId, client, requestId, traceparent } = turn;
  const traceId = parseTraceparent(traceparent)?.traceId;
  const line = { requestId, traceId, turnId, tenant, client, agentId, sessionKey };
  if (!(error instanceof ServiceError) || error.code === 'INTERNAL') {
    log.error(
      { ...line, code: 'INTERNAL', err: error, errorKind: 'internal', hint: 'this is a defect; see the stack trace' },
      'turn failed',
    );
    return;
  }
  const { code, message, cause } = error;
  const { reason, status } = error.details;
  const fields = { ...line, code, reason, status, error: message.slice(0, MAX_TEXT) };
  log.info(cause === undefined ? fields : { ...fields, err: cause }, 'turn failed');
}

import { ServiceError } from '@switchyard/contracts';

/** Thrown by a tool call that waits for a person. The turn is stored and released; it does not end. */
export class TurnParkedError extends ServiceError {
  readonly requestId: string;
  readonly action: string;
  /** Time at which the request is decided at the latest. */
  readonly until: number;

  constructor({ requestId, action, until }: { requestId: string; action: string; until: number }) {
    super('ABORTED', 'the turn waits for an approval', { details: { reason: 'APPROVAL_PENDING', retryable: false } });
    this.requestId = requestId;
    this.action = action;
    this.until = until;
  }
}

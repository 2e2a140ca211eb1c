import { ServiceError, type TurnFrame } from '@switchyard/contracts';

type ApprovalFrame = Extract<TurnFrame, { type: 'approval' }>;

/** The reason for which a turn waits. */
export type ParkKind = 'approval' | 'question' | 'sleep';

/** Prefix of the id of the request, by kind. */
export const PARK_PREFIX = { approval: 'appr', question: 'ask', sleep: 'sleep' } as const satisfies Record<ParkKind, string>;

/** Returns the reason for which a turn waits, by the id of its request. */
export function getParkKind(requestId: string): ParkKind {
  if (requestId.startsWith(`${PARK_PREFIX.question}_`)) return 'question';
  return requestId.startsWith(`${PARK_PREFIX.sleep}_`) ? 'sleep' : 'approval';
}

export interface ParkOptions {
  requestId: string;
  /** Time at which the wait is over at the latest. */
  until: number;
  /** The request as readers of the turn see it; undefined while the turn sleeps. */
  shown?: Pick<ApprovalFrame, 'requestId' | 'action' | 'question' | 'options'> | undefined;
}

/** Thrown by a tool call that waits for a person or a time. The turn is stored and released; it does not end. */
export class TurnParkedError extends ServiceError {
  readonly requestId: string;
  readonly until: number;
  readonly shown: ParkOptions['shown'];

  constructor({ requestId, until, shown }: ParkOptions) {
    super('ABORTED', 'the turn waits', { details: { reason: 'TURN_PARKED', retryable: false } });
    this.requestId = requestId;
    this.until = until;
    this.shown = shown;
  }
}

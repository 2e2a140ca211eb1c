import { RpcError } from '@switchyard/client';
import type { Failure, Kind, Told, Trying } from '../history.ts';

/** Final reasons: the turn ended or was permanently rejected. */
const FINAL_REASONS = ['POISON', 'TURN_TIMEOUT', 'WAIT_TIMEOUT', 'QUEUE_FULL', 'TENANT_QUEUE_FULL', 'IDEMPOTENCY_MISMATCH', 'SESSION_BUSY'];
/** Error codes without effect. */
const FINAL_CODES = ['INVALID_ARGUMENT', 'NOT_FOUND', 'ALREADY_EXISTS', 'PERMISSION_DENIED', 'UNAUTHENTICATED', 'RESOURCE_EXHAUSTED'];

/** Runs an operation and records its outcome; undefined if the outcome is unknown. */
export async function attempt<K extends Kind>(trying: Trying<K>, work: () => Promise<Told[K]>): Promise<Outcome<K> | undefined> {
  try {
    const told = await work();
    trying.ok(told);
    return { response: told };
  } catch (error) {
    const failure = getFailure(error);
    if (isFinal(failure)) {
      trying.failed(failure);
      return { failure };
    }
    trying.unknown(failure);
    return undefined;
  }
}

export type Outcome<K extends Kind> = { response: Told[K]; failure?: undefined } | { response?: undefined; failure: Failure };

/** Reasons why an accepted turn cannot be followed. They do not tell its outcome. */
const UNFOLLOWED = ['STREAM_GAP', 'STREAM_SILENT', 'SHUTTING_DOWN'];

/** An HTTP error response. */
export class HttpFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.code);
    this.failure = failure;
  }
}

function isFinal({ code, reason, turnId, retryable }: Failure): boolean {
  if (reason !== undefined && FINAL_REASONS.includes(reason)) return true;
  // A turn with a key returns its failure with these statuses; a retry would return the same.
  const ended = turnId !== undefined && retryable === false && code !== 'DEADLINE_EXCEEDED' && !UNFOLLOWED.includes(reason ?? '');
  return ended || FINAL_CODES.includes(code);
}

function getFailure(error: unknown): Failure {
  if (error instanceof HttpFailure) return error.failure;
  if (error instanceof RpcError) return asFailure(error.data);
  return { code: 'LOST', reason: error instanceof Error ? error.message.slice(0, 200) : String(error) };
}

/** The data of an error, in any error form. */
export function asFailure(data: unknown): Failure {
  const { code, reason, turnId, retryable } = typeof data === 'object' && data !== null ? (data as Partial<Failure>) : {};
  return {
    code: typeof code === 'string' ? code : 'LOST',
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof turnId === 'string' ? { turnId } : {}),
    ...(typeof retryable === 'boolean' ? { retryable } : {}),
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';

const MAX_ATTEMPTS = 6;
const FIRST_DELAY_MS = 50;

/** Retry budget of one transfer. */
export interface Retry {
  /** Waits with exponential backoff. Throws the error if it is not retryable or the attempts are used up. */
  wait(error: unknown): Promise<void>;
  /** Restores all attempts after progress. */
  reset(): void;
}

export function createRetry(signal?: AbortSignal): Retry {
  let failures = 0;
  return {
    async wait(error) {
      if (!isRetryable(error) || ++failures === MAX_ATTEMPTS || signal?.aborted === true) throw error;
      await delay(FIRST_DELAY_MS * 2 ** (failures - 1) * (0.5 + Math.random()));
    },
    reset: () => void (failures = 0),
  };
}

function isRetryable(error: unknown): boolean {
  return error instanceof ServiceError && (error.retryable || error.details.reason === 'BLOB_WHOLE');
}

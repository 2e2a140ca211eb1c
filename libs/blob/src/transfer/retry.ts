import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';

const TRIES = 6;
const FIRST_MS = 50;

/** How often something is tried again. */
export interface Patience {
  /** Waits, longer each time; throws the error when it is none that passes, or after the last try. */
  wait(error: unknown): Promise<void>;
  /** Something moved. */
  renew(): void;
}

export function createPatience(signal?: AbortSignal): Patience {
  let failed = 0;
  return {
    async wait(error) {
      if (!passes(error) || ++failed === TRIES || signal?.aborted === true) throw error;
      await delay(FIRST_MS * 2 ** (failed - 1) * (0.5 + Math.random()));
    },
    renew: () => void (failed = 0),
  };
}

/** What a transfer that is continued gets over. */
function passes(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  return error.retryable || error.details.reason === 'WRONG_OFFSET' || error.details.reason === 'BLOB_WHOLE';
}

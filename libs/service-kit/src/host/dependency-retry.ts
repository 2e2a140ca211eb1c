import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { HealthReporter } from '../health/health-registry.ts';

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;

const UNREACHABLE = new Set(['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EPIPE']);

export interface ReachOptions {
  /** Name in the health registry. */
  dependency: string;
  health: Pick<HealthReporter, 'set'>;
  log: Logger;
  /** Aborts the wait. */
  signal?: AbortSignal | undefined;
}

/**
 * Waits for a dependency that is unreachable at the start and reports it as not ready meanwhile. Retries with exponential backoff.
 * Throws errors that a retry cannot fix.
 */
export async function reach<T>(open: () => Promise<T>, { dependency, health, log, signal }: ReachOptions): Promise<T> {
  health.set(dependency, false, 'not reached yet');
  for (let attempt = 0; ; attempt++) {
    try {
      const reached = await unlessAborted(open(), signal);
      health.set(dependency, true);
      return reached;
    } catch (err) {
      if (!isUnreachable(err)) throw err;
      health.set(dependency, false, err.message);
      const waitMs = Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2);
      log.warn({ dependency, attempt, waitMs: Math.round(waitMs), reason: err.message }, 'a dependency is not available yet');
      await sleep(waitMs, undefined, signal === undefined ? {} : { signal });
    }
  }
}

/** Rejects on abort. The operation itself continues and its result is ignored, because the process is about to exit. */
async function unlessAborted<T>(opening: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return opening;
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([opening, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function isUnreachable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error instanceof ServiceError) return error.code === 'UNAVAILABLE';
  const { code } = error as NodeJS.ErrnoException;
  return code !== undefined && UNREACHABLE.has(code);
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Failure } from './provider-errors.ts';

export interface RetryPolicy {
  /** How often it is tried at all. */
  attempts: number;
  /** The first pause; each further one doubles, up to `maxMs`, and is shortened at random by up to half. */
  baseMs: number;
  maxMs: number;
}

export const RETRY: RetryPolicy = { attempts: 3, baseMs: 500, maxMs: 8_000 };

export interface Retried<T> {
  attempt: (n: number) => Promise<T>;
  classify: (error: unknown) => Failure;
  policy: RetryPolicy;
  signal: AbortSignal;
  /** Epoch ms. A pause that would end after it is not begun. */
  deadline: number;
  onRetry?: (failure: Failure, pauseMs: number, n: number) => void;
}

/** Tries again while the failure is transient; throws what the last attempt failed with. */
export async function retry<T>({ attempt, classify, policy, signal, deadline, onRetry }: Retried<T>): Promise<T> {
  for (let n = 1; ; n += 1) {
    try {
      return await attempt(n);
    } catch (error) {
      const failure = classify(error);
      if (!failure.transient || n >= policy.attempts || signal.aborted) throw failure.error;
      const pauseMs = failure.retryAfterMs ?? backoffMs(n, policy);
      if (Date.now() + pauseMs >= deadline) throw failure.error;
      onRetry?.(failure, pauseMs, n);
      await sleep(pauseMs, undefined, { signal });
    }
  }
}

function backoffMs(n: number, { baseMs, maxMs }: RetryPolicy): number {
  const full = Math.min(maxMs, baseMs * 2 ** (n - 1));
  return full * (0.5 + Math.random() / 2);
}

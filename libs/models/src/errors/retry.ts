import { setTimeout as sleep } from 'node:timers/promises';
import type { Failure } from './provider-errors.ts';

export interface RetryPolicy {
  /** Maximum number of attempts, including the first. */
  attempts: number;
  /** The first pause. Each further pause doubles, up to `maxMs`, with a random reduction of up to half. */
  baseMs: number;
  maxMs: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = { attempts: 3, baseMs: 500, maxMs: 8_000 };

export interface RetryOptions<T> {
  attempt: (n: number) => Promise<T>;
  classify: (error: unknown) => Failure;
  policy: RetryPolicy;
  signal: AbortSignal;
  /** Deadline in epoch milliseconds. No retry starts after it. */
  deadline: number;
  onRetry?: (failure: Failure, pauseMs: number, n: number) => void;
}

/** Runs attempts while failures are transient. Throws the error of the last attempt. */
export async function retry<T>({ attempt, classify, policy, signal, deadline, onRetry }: RetryOptions<T>): Promise<T> {
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

import { ServiceError } from '@switchyard/contracts';
import { CIRCUIT_OPEN } from '@switchyard/models';
import type { Clock } from '@switchyard/service-kit';
import type { ModelAccess } from '../agents/model-access.ts';

const UNREACHABLE = 'PROVIDER_UNREACHABLE';
/** Reasons for which a service of this installation does not answer, for example while it restarts. */
const SERVICE_AWAY: ReadonlySet<unknown> = new Set(['NO_RESPONDERS', 'BUS_UNREACHABLE', 'CALL_SILENT', 'SHUTTING_DOWN']);
/** Network errors of a host that accepts no connections. The request was not sent, and a repetition may succeed. */
const NOT_CONNECTED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** How long a turn waits for a provider, and for a service of this installation. */
const PROVIDER_WINDOW_MS = 30_000;
const SERVICE_WINDOW_MS = 60_000;
/** A turn waits for an open circuit breaker at most until it lets a call through again, which takes a minute by default. */
const BREAKER_WINDOW_MS = 90_000;

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5_000;

export interface OutageRetryOptions {
  clock: Clock;
  signal: AbortSignal;
  /** Remaining time of the turn. */
  remainingMs: () => number;
  /** Called before each repetition. */
  onRetry: (error: ServiceError, pauseMs: number) => void;
}

/**
 * Repeats model calls that failed before their first text because the provider or a service of this installation was away. A transient fault
 * of a dependency does not end an accepted turn; it ends when the window of that fault or the deadline of the turn is over.
 */
export function retryDuringOutages(models: ModelAccess, options: OutageRetryOptions): ModelAccess {
  return {
    complete: (request) => repeat(options, () => models.complete(request)),
    streamTo(request, onDelta) {
      let hasOutput = false;
      return repeat({ ...options, isFinal: () => hasOutput }, () =>
        models.streamTo(request, (piece, type) => {
          hasOutput = true;
          return onDelta(piece, type);
        }),
      );
    },
  };
}

async function repeat<T>(
  { clock, signal, remainingMs, onRetry, isFinal }: OutageRetryOptions & { isFinal?: () => boolean },
  call: () => Promise<T>,
): Promise<T> {
  const startedAt = clock.now();
  for (let n = 0; ; n += 1) {
    try {
      return await call();
    } catch (error) {
      const outage = isFinal?.() === true ? undefined : findOutage(error);
      if (!outage || signal.aborted) throw error;
      const pauseMs = Math.max(outage.waitMs, Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** n));
      const leftMs = Math.min(startedAt + outage.windowMs - clock.now(), remainingMs());
      if (pauseMs >= leftMs) throw error;
      onRetry(outage.error, pauseMs);
      await pause(clock, pauseMs, signal);
    }
  }
}

interface Outage {
  error: ServiceError;
  /** Time since the first call within which the call is repeated. */
  windowMs: number;
  /** Time before which a repetition is refused. */
  waitMs: number;
}

function findOutage(error: unknown): Outage | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const { reason, cause, networkCode, retryAfterMs = 0 } = error.details;
  // The deadline of a call on the bus has no reason. That of a model has one.
  const isSilent = error.code === 'DEADLINE_EXCEEDED' && reason === undefined;
  if (isSilent || SERVICE_AWAY.has(reason)) return { error, windowMs: SERVICE_WINDOW_MS, waitMs: 0 };
  if (reason === UNREACHABLE && NOT_CONNECTED.has(networkCode)) return { error, windowMs: PROVIDER_WINDOW_MS, waitMs: 0 };
  if (reason === CIRCUIT_OPEN && cause === UNREACHABLE) return { error, windowMs: BREAKER_WINDOW_MS, waitMs: retryAfterMs };
  return undefined;
}

/** Ends early when the turn is aborted. The next call then fails with the reason. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      stop();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const stop = clock.after(ms, finish);
    signal.addEventListener('abort', finish, { once: true });
  });
}

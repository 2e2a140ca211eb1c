import { MAX, ServiceError } from '@switchyard/contracts';
import { histogram } from '@switchyard/telemetry';

export type ProviderKind = 'transcription' | 'speech' | 'image' | 'vision' | 'video';

/** One provider with its model. */
export interface Candidate {
  provider: string;
  modelId: string;
}

/** Asks providers in order until one answers. The error of a chain of several lists each failure. */
export async function askInOrder<T>(
  kind: ProviderKind,
  candidates: readonly Candidate[],
  { signal, ask }: { signal: AbortSignal; ask: (candidate: Candidate) => Promise<T> },
): Promise<T & Candidate> {
  const failures: { candidate: Candidate; error: ServiceError }[] = [];
  for (const candidate of candidates) {
    signal.throwIfAborted();
    const startedAt = performance.now();
    const record = (outcome: string): void =>
      histogram('switchyard.media.duration', { kind, provider: candidate.provider, outcome }).record(
        (performance.now() - startedAt) / 1_000,
      );
    try {
      const answer = await ask(candidate);
      record('answered');
      return { ...answer, ...candidate };
    } catch (error) {
      if (signal.aborted) throw error;
      if (!(error instanceof ServiceError)) throw error;
      record(error.code);
      failures.push({ candidate, error });
    }
  }
  throw combineFailures(kind, failures);
}

function combineFailures(kind: ProviderKind, failures: readonly { candidate: Candidate; error: ServiceError }[]): ServiceError {
  const last = failures.at(-1);
  if (last === undefined)
    return new ServiceError('FAILED_PRECONDITION', `no provider of ${kind} is configured`, {
      details: { reason: 'PROVIDER_NOT_CONFIGURED' },
    });
  if (failures.length === 1) return last.error;
  const tried = failures.map(({ candidate, error }) => `${candidate.provider}/${candidate.modelId}: ${error.message}`).join('; ');
  const isRetryable = failures.some(({ error }) => error.retryable);
  return new ServiceError('UNAVAILABLE', `all providers of ${kind} failed: ${tried}`.slice(0, MAX.line), {
    details: { reason: 'ALL_PROVIDERS_FAILED', retryable: isRetryable },
    cause: last.error,
  });
}

import { MAX, ServiceError } from '@switchyard/contracts';
import type { ConfigurationSource, Tree } from '@switchyard/service-kit';
import { scrub } from '@switchyard/telemetry';

/** A configuration that takes longer to apply would block every process for that time. */
const TRIAL_TIMEOUT_MS = 5_000;

/**
 * Applies a version to this process before it is stored, as every process does with a published version. Returns a function that goes back
 * to the previous version. Throws if this process refuses the version or exceeds the time limit.
 */
export function tryVersion(configuration: Pick<ConfigurationSource, 'tryLayer'>, layer: Tree): () => void {
  try {
    return configuration.tryLayer(layer, TRIAL_TIMEOUT_MS);
  } catch (error) {
    const reason = scrub(error instanceof Error ? error.message : String(error));
    const message = `The configuration was not written, because this replica could not apply it: ${reason}`.slice(0, MAX.line);
    throw new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'TRIAL_FAILED' } });
  }
}

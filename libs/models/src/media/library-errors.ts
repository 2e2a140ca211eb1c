import { ServiceError } from '@switchyard/contracts';
import { ProtocolError } from '../errors/protocol-error.ts';
import { streamCut } from '../errors/provider-errors.ts';
import { UpstreamError } from '../errors/upstream-error.ts';

export interface FailedCall {
  provider: string;
  timeoutMs: number;
}

/** Converts an error of the AI SDK or of libs/egress to the errors of this library, so that all providers fail alike. */
export function convertLibraryError(error: unknown, call: FailedCall): unknown {
  if (!(error instanceof Error)) return error;
  const { statusCode, responseHeaders, name } = error as Error & { statusCode?: unknown; responseHeaders?: Record<string, string> };
  if (typeof statusCode === 'number' && statusCode >= 400) {
    return new UpstreamError(error.message, { status: statusCode, ...(responseHeaders && { headers: responseHeaders }), cause: error });
  }
  const egressError = findServiceError(error);
  if (egressError !== undefined) return convertEgressError(egressError, { ...call, hasStarted: typeof statusCode === 'number' });
  // A response without an error status that the library could not read: HTML, nothing, or JSON of another shape.
  if (typeof statusCode === 'number' || name.startsWith('AI_')) return new ProtocolError('sent a response that is not its protocol');
  return error;
}

/** The library wraps errors that occur while it reads a response. */
function findServiceError(error: Error): ServiceError | undefined {
  for (let inner: unknown = error, depth = 0; inner instanceof Error && depth < 5; inner = inner.cause, depth += 1) {
    if (inner instanceof ServiceError) return inner;
  }
  return undefined;
}

/** Names the provider instead of its host. `hasStarted`: the connection failed while the response was read. */
function convertEgressError(error: ServiceError, { provider, timeoutMs, hasStarted }: FailedCall & { hasStarted: boolean }): Error {
  if (error.details.reason === 'UPSTREAM_UNREACHABLE') {
    return hasStarted ? streamCut(provider) : new UpstreamError(error.message, { cause: error });
  }
  if (error.code !== 'DEADLINE_EXCEEDED' || error.details.reason !== undefined) return error;
  return new ServiceError('DEADLINE_EXCEEDED', `provider ${provider} did not answer within ${timeoutMs} ms`, {
    details: { reason: 'PROVIDER_TIMEOUT' },
    cause: error,
  });
}

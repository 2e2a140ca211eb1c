import { ServiceError } from '@switchyard/contracts';

/** An address that must not be called. The message never has the addresses of an internal name, only the first blocked one. */
export function blockedError(message: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'ADDRESS_BLOCKED' } });
}

/** A port that must not be called. */
export function portBlockedError(message: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'PORT_BLOCKED' } });
}

/** A response or a chain of redirects that exceeds a limit of the request. */
export function limitError(
  reason: 'RESPONSE_TOO_LARGE' | 'CONTENT_TYPE_NOT_ALLOWED' | 'TOO_MANY_REDIRECTS' | 'REDIRECT_REFUSED',
  message: string,
): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason } });
}

/** Returns the error of this library inside an error of the HTTP client, else UNAVAILABLE with the reason of the network. */
export function convertError(error: unknown, host: string): unknown {
  for (let inner = error, depth = 0; inner instanceof Error && depth < 5; inner = inner.cause, depth++) {
    if (inner instanceof ServiceError) return inner;
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const text = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new ServiceError('UNAVAILABLE', `${host} cannot be reached: ${text}`, {
    cause: error,
    details: { reason: 'UPSTREAM_UNREACHABLE' },
  });
}

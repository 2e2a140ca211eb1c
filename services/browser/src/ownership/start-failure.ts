import { ServiceError } from '@switchyard/contracts';
import type { StartFailure } from './browser-document.ts';

/** Failure of a browser whose replicas ended several times while they ran it. */
export const ENDED_TOO_OFTEN: StartFailure = {
  code: 'UNAVAILABLE',
  message: 'The browser ended several times and was not started again. browser.navigate starts it without its earlier tabs.',
};

/** Returns the reason why a browser did not start, as it is stored for callers on every replica. */
export function describeStartFailure(error: unknown): StartFailure {
  if (!(error instanceof ServiceError)) {
    return { code: 'UNAVAILABLE', message: 'The browser did not start. The log of the browser service has the reason.' };
  }
  const { code, message, details } = error;
  return { code, message, ...(details.reason !== undefined && { reason: details.reason }) };
}

export function toError(failure: StartFailure | null): ServiceError {
  if (failure === null) return new ServiceError('UNAVAILABLE', 'The browser did not start. Repeat the call.');
  const { code, message, reason } = failure;
  return new ServiceError(code, message, { details: reason === undefined ? {} : { reason } });
}

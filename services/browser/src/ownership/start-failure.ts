import { ServiceError } from '@switchyard/contracts';
import { describeDriverFailure } from '../sessions/deadline.ts';
import type { StartFailure } from './browser-document.ts';

/** Failure of a browser whose replicas ended several times while they ran it. */
export const ENDED_TOO_OFTEN: StartFailure = {
  code: 'UNAVAILABLE',
  message: 'The browser ended several times and was not started again. browser.navigate starts it without its earlier tabs.',
};

/** A call of the same session stopped the browser before the call that started it had it. */
const STOPPED: StartFailure = {
  code: 'UNAVAILABLE',
  message: 'browser.stop, or the end of its last session, closed the browser while this call started it. Repeat the call.',
};

/** All browsers of all replicas are in use. */
export const NO_PLACE: StartFailure = {
  code: 'RESOURCE_EXHAUSTED',
  message: 'All browsers are in use (browser.maxProfiles on each replica). Stop one, or repeat the call later.',
};

/** Returns the reason why a browser did not start, as it is stored for callers on every replica. */
export function describeStartFailure(error: unknown): StartFailure {
  if (error instanceof ServiceError) {
    const { code, message, details } = error;
    return { code, message, ...(details.reason !== undefined && { reason: details.reason }) };
  }
  const cause = describeDriverFailure(error);
  if (cause === undefined)
    return { code: 'UNAVAILABLE', message: 'The browser did not start. The log of the browser service has the reason.' };
  return {
    code: 'UNAVAILABLE',
    message: `Chromium started, but could not be prepared: ${cause}. Repeat the call. If it fails again, check the memory of the machine and /dev/shm.`,
  };
}

/** Returns the error of a stored failure. Without one the browser was closed on request. */
export function toError(failure: StartFailure | null): ServiceError {
  const { code, message, reason } = failure ?? STOPPED;
  const details = { ...(reason !== undefined && { reason }), ...(code === 'RESOURCE_EXHAUSTED' && { retryable: true }) };
  return new ServiceError(code, message, { details });
}

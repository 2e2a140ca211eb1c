import { ServiceError } from '@switchyard/contracts';

/** The page did not answer in time, for example because of an endless loop. Its tab is closed. */
export class PageUnresponsive extends Error {}

/** Fails with `PageUnresponsive` when the work takes longer than `ms`. The work is then ignored. */
export async function withDeadline<T>(work: Promise<T>, ms: number, clock = AbortSignal.timeout(ms)): Promise<T> {
  work.catch(() => undefined);
  return new Promise<T>((resolve, reject) => {
    clock.addEventListener('abort', () => reject(new PageUnresponsive()), { once: true });
    work.then(resolve, reject);
  });
}

/** Returns the first line of an error of the driver, without its call log and colours. */
export function describeFailure(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  // eslint-disable-next-line no-control-regex -- the driver colours its messages
  const line = (text.split('\n', 1)[0] ?? '').replaceAll(/\u001B\[\d+m/g, '').replace(/^[a-zA-Z]+\.[a-zA-Z]+: /, '');
  return line.slice(0, 500);
}

/** Whether the driver gave up after its own timeout. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

/** Whether the error says that Chromium or the tab is gone. */
export function isClosed(error: unknown): boolean {
  return error instanceof Error && /has been closed|Target crashed|Target closed|Page crashed|Browser closed/.test(error.message);
}

/**
 * Whether the driver threw the error. Its messages begin with the method that failed, but only where the driver finds it in the stack.
 * Its other errors are plain, while defects of this service are errors of other classes, and those of Node.js have a code.
 */
function isDriverFailure(error: unknown): boolean {
  if (isTimeout(error)) return true;
  if (!(error instanceof Error)) return false;
  const isPlain = Object.getPrototypeOf(error) === Error.prototype && !('code' in error);
  return isPlain || /^[a-zA-Z]+\.[a-zA-Z]+: /.test(error.message);
}

/** Returns what an error of the driver says; undefined for errors of this service. */
export function describeDriverFailure(error: unknown): string | undefined {
  if (error instanceof PageUnresponsive) return 'it did not respond in time';
  if (isClosed(error)) return 'it ended at once';
  return isDriverFailure(error) ? describeFailure(error) : undefined;
}

/**
 * Converts failures of the driver that no caller caused, for example when a document is replaced while it is read: they pass, so the call
 * can be repeated. Other errors are returned unchanged.
 */
export function convertDriverFailure(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  if (isClosed(error)) return browserGone();
  if (error instanceof PageUnresponsive) {
    return new ServiceError('UNAVAILABLE', 'Chromium did not respond in time. Repeat the call.', { cause: error });
  }
  if (!isDriverFailure(error)) return error;
  return new ServiceError('UNAVAILABLE', `Chromium did not complete the call: ${describeFailure(error)}. Repeat the call.`, {
    cause: error,
  });
}

export function browserGone(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'Chromium or the tab ended during the call. Repeat the call; navigate starts anew.');
}

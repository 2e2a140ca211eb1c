import { UpstreamError } from '../errors/upstream-error.ts';

/** Creates the error of a response with an error status. */
export function statusError(status: number, message: string, headers: Record<string, string> = {}): UpstreamError {
  return new UpstreamError(message, { status, headers });
}

/** Creates the error of a broken connection. */
export function networkError(code: string, message: string): UpstreamError {
  return new UpstreamError(message, { cause: Object.assign(new Error(message), { code }) });
}

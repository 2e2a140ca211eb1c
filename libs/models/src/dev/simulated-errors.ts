import { UpstreamError } from '../errors/upstream-error.ts';

/** What an adapter throws when an upstream answers with a status that is not a success. */
export function statusError(status: number, message: string, headers: Record<string, string> = {}): UpstreamError {
  return new UpstreamError(message, { status, headers });
}

/** What it throws when the connection breaks. */
export function networkError(code: string, message: string): UpstreamError {
  return new UpstreamError(message, { cause: Object.assign(new Error(message), { code }) });
}

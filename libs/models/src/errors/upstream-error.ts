/** What an upstream refused with, or how the way to it broke, before anybody has made an error for callers of it. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  /** The HTTP status, or what it would have been; absent when the connection broke. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The upstream's own word for it. */
  readonly code: string | undefined;

  constructor(message: string, said: { status?: number; headers?: Record<string, string>; code?: string; cause?: unknown } = {}) {
    super(message, said.cause === undefined ? undefined : { cause: said.cause });
    this.status = said.status;
    this.headers = said.headers ?? {};
    this.code = said.code;
  }
}

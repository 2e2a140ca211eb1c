/** A rejected request or a failed connection, before it is converted to a ServiceError. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  /** The HTTP status or its equivalent; undefined if the connection failed. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The provider's error code. */
  readonly code: string | undefined;

  constructor(message: string, details: { status?: number; headers?: Record<string, string>; code?: string; cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.status = details.status;
    this.headers = details.headers ?? {};
    this.code = details.code;
  }
}

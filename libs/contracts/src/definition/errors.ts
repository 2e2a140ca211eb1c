/** The canonical codes of gRPC, without OK. Every failure between our services is one of them. */
export const ERROR_CODES = [
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** One thing wrong with the params. Never carries the value that came. */
export interface Issue {
  path: string;
  expected: string;
  received: string;
  message: string;
}

/** Machine detail. The named fields reach clients in `error.data`; any other stays between our services. */
export interface ErrorDetails {
  /** The finer word: `TURN_TIMEOUT`, `IDEMPOTENCY_MISMATCH`, `FORBIDDEN`, … */
  reason?: string;
  retryable?: boolean;
  retryAfterMs?: number;
  /** With RESOURCE_EXHAUSTED: a rate limit was exceeded, rather than a queue or quota. */
  rate?: boolean;
  turnId?: string;
  issues?: readonly Issue[];
  [extra: string]: unknown;
}

/** The only error that crosses the bus as itself; anything else thrown is logged and crosses as INTERNAL. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: { details?: ErrorDetails; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.details = options.details ?? {};
  }

  /** As `isRetryable`. */
  get retryable(): boolean {
    return isRetryable(this.code, this.details);
  }
}

/**
 * Same as the constructor, but without a stack trace, for frequent errors that are no defects. The stack trace is most of the cost of
 * an error.
 */
export function createServiceError(code: ErrorCode, message: string, options: { details?: ErrorDetails } = {}): ServiceError {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return new ServiceError(code, message, options);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Details that clients may see. */
export type PublicDetails = Pick<ErrorDetails, 'reason' | 'retryable' | 'retryAfterMs' | 'turnId' | 'issues'>;

/**
 * Whether the call can be repeated: it may succeed later and had no effect so far. Derived from the code; the thrower can override it
 * in the details (docs/decisions/0012).
 */
export function isRetryable(code: ErrorCode, { retryable }: Pick<ErrorDetails, 'retryable'>): boolean {
  return retryable ?? RETRYABLE.has(code);
}

const RETRYABLE: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'ABORTED']);

/** JSON-RPC's numbers come only from the interface's table, which has one for rates and none for what is full. */
export function jsonRpcCode({ code, details }: { code: ErrorCode; details?: ErrorDetails }): number {
  switch (code) {
    case 'INVALID_ARGUMENT':
      return -32602;
    case 'UNIMPLEMENTED':
      return -32601;
    case 'RESOURCE_EXHAUSTED':
      return details?.rate === true ? -32000 : -32603;
    default:
      return -32603;
  }
}

const HTTP_STATUS: Record<ErrorCode, number> = {
  CANCELLED: 499,
  UNKNOWN: 500,
  INVALID_ARGUMENT: 400,
  DEADLINE_EXCEEDED: 504,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  PERMISSION_DENIED: 403,
  RESOURCE_EXHAUSTED: 429,
  FAILED_PRECONDITION: 400,
  ABORTED: 409,
  OUT_OF_RANGE: 400,
  UNIMPLEMENTED: 501,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DATA_LOSS: 500,
  UNAUTHENTICATED: 401,
};

/** The status of a code where the route does not fix its own. */
export function httpStatus(code: ErrorCode): number {
  return HTTP_STATUS[code];
}

const OPENAI_TYPES = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [429, 'rate_limit_error'],
  [500, 'server_error'],
]);

/** The `type` of a `/v1` error object follows the status. */
export function openAiErrorType(status: number): string {
  return OPENAI_TYPES.get(status) ?? 'server_error';
}

/** Error data for clients, in `error.data` of JSON-RPC. */
export interface ErrorData {
  code: ErrorCode;
  reason?: string;
  requestId: string;
  retryable: boolean;
  retryAfterMs?: number;
  turnId?: string;
  issues?: readonly Issue[];
}

/** The public part of an error, with nothing internal in it. */
export function errorData({ code, details }: { code: ErrorCode; details: PublicDetails }, requestId: string): ErrorData {
  const { reason, retryAfterMs, turnId, issues } = details;
  return {
    code,
    ...(reason === undefined ? {} : { reason }),
    requestId,
    retryable: isRetryable(code, details),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(turnId === undefined ? {} : { turnId }),
    ...(issues === undefined ? {} : { issues }),
  };
}

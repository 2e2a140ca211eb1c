import type { ErrorCode, ErrorData } from '@switchyard/contracts';

/** The reason of an error that the client itself raised. */
export type ClientReason = 'CONNECTION_LOST' | 'CLIENT_TIMEOUT' | 'CLIENT_CLOSED' | 'QUEUE_FULL' | 'STREAM_ENDED' | 'BAD_ANSWER';

/** A failed call: rejected by the gateway, or lost in transit. An aborted call rejects with the caller's own reason instead. */
export class RpcError extends Error {
  /** The JSON-RPC error code. */
  readonly code: number;
  readonly data: ErrorData;

  constructor(code: number, message: string, data: ErrorData, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }

  /** Whether the same call may be repeated: it can succeed, and the failed call had no effect. */
  get retryable(): boolean {
    return this.data.retryable;
  }
}

const INTERNAL = -32603;

/** Creates an error that the client itself raises. */
export function localError(code: ErrorCode, reason: ClientReason, message: string, retryable = false): RpcError {
  return new RpcError(INTERNAL, message, { code, reason, requestId: '', retryable });
}

/** Creates the error of a call whose connection broke. It is unknown whether the call was executed. */
export function connectionLost(cause?: unknown, repeatable = false): RpcError {
  const data: ErrorData = { code: 'UNAVAILABLE', reason: 'CONNECTION_LOST', requestId: '', retryable: repeatable };
  return new RpcError(INTERNAL, 'The connection to the gateway was lost', data, cause);
}

/** Creates the error of a call without a response in time. It is unknown whether the call was executed. */
export function timedOut(timeoutMs: number, repeatable: boolean): RpcError {
  return localError('DEADLINE_EXCEEDED', 'CLIENT_TIMEOUT', `No answer within ${timeoutMs} ms`, repeatable);
}

export function unauthenticated(): RpcError {
  return new RpcError(INTERNAL, 'Unauthorized', { code: 'UNAUTHENTICATED', requestId: '', retryable: false });
}

const CODES = new Map<number, ErrorCode>([
  [-32700, 'INVALID_ARGUMENT'],
  [-32600, 'INVALID_ARGUMENT'],
  [-32601, 'UNIMPLEMENTED'],
  [-32602, 'INVALID_ARGUMENT'],
  [-32000, 'RESOURCE_EXHAUSTED'],
]);

/** Converts the error member of a JSON-RPC response. Without data the code is derived from the number. */
export function fromAnswer(error: unknown): RpcError {
  const { code, message, data } = isObject(error) ? error : {};
  const number = typeof code === 'number' ? code : INTERNAL;
  const errorCode = CODES.get(number) ?? 'INTERNAL';
  const errorData = isObject(data) ? (data as Partial<ErrorData>) : {};
  return new RpcError(number, typeof message === 'string' ? message : 'The call failed', {
    requestId: '',
    code: errorCode,
    retryable: errorCode === 'RESOURCE_EXHAUSTED',
    ...errorData,
  });
}

const STATUS = new Map<number, ErrorCode>([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [413, 'FAILED_PRECONDITION'],
  [415, 'INVALID_ARGUMENT'],
  [429, 'RESOURCE_EXHAUSTED'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [504, 'UNAVAILABLE'],
]);

/** Statuses of a proxy that lost the request. The request may have reached the gateway. */
const MAY_HAVE_ARRIVED: ReadonlySet<number> = new Set([502, 504]);

/** Converts an HTTP error: `{error: "…"}`, a JSON-RPC error with id null, or an error page of a proxy. */
export async function fromResponse(response: Response, repeatable = false): Promise<RpcError> {
  const text = await response.text().catch(() => '');
  const body = parseJson(text);
  const code = STATUS.get(response.status) ?? 'INTERNAL';
  const { error } = isObject(body) ? body : {};
  const rpcError = fromAnswer(isObject(error) ? error : undefined);
  const retryAfter = Number(response.headers.get('retry-after'));
  const data: ErrorData = {
    retryable: mayRepeat(response, code) && (repeatable || !MAY_HAVE_ARRIVED.has(response.status)),
    ...(retryAfter > 0 ? { retryAfterMs: retryAfter * 1000 } : {}),
    requestId: response.headers.get('x-request-id') ?? '',
    ...(isObject(error) && isObject(error['data']) ? rpcError.data : {}),
    code,
  };
  const message = typeof error === 'string' ? error : isObject(error) ? rpcError.message : `HTTP ${response.status}`;
  return new RpcError(rpcError.code, message, data);
}

function mayRepeat({ headers }: Response, code: ErrorCode): boolean {
  return (code === 'UNAVAILABLE' || code === 'RESOURCE_EXHAUSTED') && headers.get('x-should-retry') !== 'false';
}

/** Parses JSON. Returns undefined if it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

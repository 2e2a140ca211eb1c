import type { ErrorCode, ErrorData } from '@switchyard/contracts';

/** What the client adds to the data of an error that it raised itself. */
export type ClientReason = 'CONNECTION_LOST' | 'CLIENT_TIMEOUT' | 'CLIENT_CLOSED' | 'QUEUE_FULL' | 'STREAM_ENDED' | 'BAD_ANSWER';

/** Every failure of a call: refused by the gateway, or lost on the way. An abort is the caller's own reason instead. */
export class RpcError extends Error {
  /** The number of JSON-RPC. */
  readonly code: number;
  readonly data: ErrorData;

  constructor(code: number, message: string, data: ErrorData, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }

  /** Whether the same call may simply be made again: it may succeed then, and the one that failed has not acted. */
  get retryable(): boolean {
    return this.data.retryable;
  }
}

const INTERNAL = -32603;

/** A failure that no gateway told us about. */
export function localError(code: ErrorCode, reason: ClientReason, message: string, retryable = false): RpcError {
  return new RpcError(INTERNAL, message, { code, reason, requestId: '', retryable });
}

/** The connection broke with the call under way: whether it was carried out is not known. */
export function connectionLost(cause?: unknown, repeatable = false): RpcError {
  const data: ErrorData = { code: 'UNAVAILABLE', reason: 'CONNECTION_LOST', requestId: '', retryable: repeatable };
  return new RpcError(INTERNAL, 'The connection to the gateway was lost', data, cause);
}

/** The answer did not come in time: whether the call was carried out is not known. */
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

/** The error member of a JSON-RPC answer. Where the gateway sent no data, the number has to do. */
export function fromAnswer(error: unknown): RpcError {
  const { code, message, data } = isObject(error) ? error : {};
  const number = typeof code === 'number' ? code : INTERNAL;
  const word = CODES.get(number) ?? 'INTERNAL';
  const given = isObject(data) ? (data as Partial<ErrorData>) : {};
  return new RpcError(number, typeof message === 'string' ? message : 'The call failed', {
    requestId: '',
    code: word,
    retryable: word === 'RESOURCE_EXHAUSTED',
    ...given,
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

/** What a proxy says when it lost the request on its way, which may have arrived. */
const MAY_HAVE_ARRIVED: ReadonlySet<number> = new Set([502, 504]);

/** An answer of the transport itself: `{error: "…"}`, a JSON-RPC error with id null, or a proxy's page. */
export async function fromResponse(response: Response, repeatable = false): Promise<RpcError> {
  const text = await response.text().catch(() => '');
  const body = parsed(text);
  const code = STATUS.get(response.status) ?? 'INTERNAL';
  const { error } = isObject(body) ? body : {};
  const told = fromAnswer(isObject(error) ? error : undefined);
  const retryAfter = Number(response.headers.get('retry-after'));
  const data: ErrorData = {
    retryable: mayRepeat(response, code) && (repeatable || !MAY_HAVE_ARRIVED.has(response.status)),
    ...(retryAfter > 0 ? { retryAfterMs: retryAfter * 1000 } : {}),
    requestId: response.headers.get('x-request-id') ?? '',
    ...(isObject(error) && isObject(error['data']) ? told.data : {}),
    code,
  };
  const message = typeof error === 'string' ? error : isObject(error) ? told.message : `HTTP ${response.status}`;
  return new RpcError(told.code, message, data);
}

function mayRepeat({ headers }: Response, code: ErrorCode): boolean {
  return (code === 'UNAVAILABLE' || code === 'RESOURCE_EXHAUSTED') && headers.get('x-should-retry') !== 'false';
}

/** JSON, or undefined where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import { errorData, jsonRpcCode, type ErrorCode, type ErrorData, type ServiceError } from '@switchyard/contracts';

/** What the edge itself finds wrong, before any service sees the request. */
export interface Fault {
  /** JSON-RPC's number for it. */
  number: number;
  code: ErrorCode;
  message: string;
  reason?: string;
  retryAfterMs?: number;
}

const RESULT_HEAD = Buffer.from('{"jsonrpc":"2.0","result":');
const ID_HEAD = ',"id":';

/** Puts a result's bytes into their envelope, unparsed. */
export function resultAnswer(result: Uint8Array, id: string): Buffer {
  const tail = `${ID_HEAD}${id}}`;
  const tailAt = RESULT_HEAD.length + result.length;
  const answer = Buffer.allocUnsafe(tailAt + Buffer.byteLength(tail));
  answer.set(RESULT_HEAD, 0);
  answer.set(result, RESULT_HEAD.length);
  answer.write(tail, tailAt);
  return answer;
}

/** A result that was made here. */
export function localAnswer(json: string, id: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","result":${json}${ID_HEAD}${id}}`);
}

/** What a service said went wrong. */
export function errorAnswer(error: ServiceError, requestId: string, id: string): Buffer {
  return failure({ code: jsonRpcCode(error.code), message: error.message, data: errorData(error, requestId) }, id);
}

export function faultAnswer({ number, message, code, reason, retryAfterMs }: Fault, requestId: string, id: string): Buffer {
  const data: ErrorData = {
    code,
    ...(reason === undefined ? {} : { reason }),
    requestId,
    retryable: code === 'RESOURCE_EXHAUSTED' || code === 'UNAVAILABLE',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  return failure({ code: number, message, data }, id);
}

function failure(error: { code: number; message: string; data: ErrorData }, id: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","error":${JSON.stringify(error)}${ID_HEAD}${id}}`);
}

const COMMA = Buffer.from(',');
const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

/** The answers of a batch, in order. */
export function batchAnswer(answers: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [];
  for (const answer of answers) parts.push(parts.length === 0 ? OPEN : COMMA, answer);
  return Buffer.concat([...parts, CLOSE]);
}

import { errorData, jsonRpcCode, type ErrorCode, type ErrorData, type ServiceError } from '@switchyard/contracts';
import { toPayloadBytes, toLatin1, MIN_BUFFER_BYTES, type Payload } from '../http/payload.ts';

/** An error of the gateway itself. */
export interface Fault {
  /** The JSON-RPC error code. */
  number: number;
  code: ErrorCode;
  message: string;
  reason?: string;
  retryAfterMs?: number;
  /** Whether the same call may succeed later, if the code does not determine it. */
  retryable?: boolean;
}

const RESULT_HEAD = '{"jsonrpc":"2.0","result":';

/** The bytes around a result. The id is a Latin-1 string with one character per byte. */
export function createResultEnvelope(id: string): [head: Buffer, tail: Buffer] {
  return [Buffer.from(RESULT_HEAD), toPayloadBytes(createTail(id))];
}

function createTail(id: string): string {
  return `,"id":${id}}`;
}

/** Wraps the bytes of a result without parsing them. */
export function encodeResult(result: Uint8Array, id: string): Payload {
  const tail = createTail(id);
  const bytes = Buffer.isBuffer(result) ? result : Buffer.from(result.buffer, result.byteOffset, result.length);
  if (bytes.length < MIN_BUFFER_BYTES) return RESULT_HEAD + bytes.toString('latin1') + tail;
  return Buffer.concat([Buffer.from(RESULT_HEAD), bytes, toPayloadBytes(tail)]);
}

/** Encodes a result of the gateway itself. */
export function encodeLocalResult(json: string, id: string): Payload {
  return `${RESULT_HEAD}${toLatin1(json)},"id":${id}}`;
}

/** Encodes the error of a service. */
export function encodeError(error: ServiceError, requestId: string, id: string): Payload {
  return encodeFailure({ code: jsonRpcCode(error), message: error.message, data: errorData(error, requestId) }, id);
}

export function encodeFault(fault: Fault, requestId: string, id: string): Payload {
  const { number, message, code } = fault;
  return encodeFailure({ code: number, message, data: errorData({ code, details: fault }, requestId) }, id);
}

function encodeFailure(error: { code: number; message: string; data: ErrorData }, id: string): Payload {
  return `{"jsonrpc":"2.0","error":${toLatin1(JSON.stringify(error))},"id":${id}}`;
}

/** Joins the responses of a batch, in order. */
export function encodeBatch(answers: readonly Payload[]): Payload {
  const parts: Buffer[] = [];
  for (const answer of answers) parts.push(parts.length === 0 ? OPEN : COMMA, toPayloadBytes(answer));
  return Buffer.concat([...parts, CLOSE]);
}

const COMMA = Buffer.from(',');
const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

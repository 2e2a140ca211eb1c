import { errorData, jsonRpcCode, type ErrorCode, type ErrorData, type ServiceError } from '@switchyard/contracts';
import { answerBytes, bytesAsText, LONG_BYTES, type Answer } from '../http/payload.ts';

/** What the edge itself finds wrong, before any service sees the request. */
export interface Fault {
  /** JSON-RPC's number for it. */
  number: number;
  code: ErrorCode;
  message: string;
  reason?: string;
  retryAfterMs?: number;
  /** Whether the same may succeed later, where the code does not say. */
  retryable?: boolean;
}

const RESULT_HEAD = '{"jsonrpc":"2.0","result":';

/** What stands around a result. The id is the client's own text, a character a byte. */
export function resultEnvelope(id: string): [head: Buffer, tail: Buffer] {
  return [Buffer.from(RESULT_HEAD), answerBytes(tailOf(id))];
}

function tailOf(id: string): string {
  return `,"id":${id}}`;
}

/** Puts a result's bytes into their envelope, unparsed. */
export function resultAnswer(result: Uint8Array, id: string): Answer {
  const tail = tailOf(id);
  const bytes = Buffer.isBuffer(result) ? result : Buffer.from(result.buffer, result.byteOffset, result.length);
  if (bytes.length < LONG_BYTES) return RESULT_HEAD + bytes.toString('latin1') + tail;
  return Buffer.concat([Buffer.from(RESULT_HEAD), bytes, answerBytes(tail)]);
}

/** A result that was made here. */
export function localAnswer(json: string, id: string): Answer {
  return `${RESULT_HEAD}${bytesAsText(json)},"id":${id}}`;
}

/** What a service said went wrong. */
export function errorAnswer(error: ServiceError, requestId: string, id: string): Answer {
  return failure({ code: jsonRpcCode(error), message: error.message, data: errorData(error, requestId) }, id);
}

export function faultAnswer(fault: Fault, requestId: string, id: string): Answer {
  const { number, message, code } = fault;
  return failure({ code: number, message, data: errorData({ code, details: fault }, requestId) }, id);
}

function failure(error: { code: number; message: string; data: ErrorData }, id: string): Answer {
  return `{"jsonrpc":"2.0","error":${bytesAsText(JSON.stringify(error))},"id":${id}}`;
}

/** The answers of a batch, in order. */
export function batchAnswer(answers: readonly Answer[]): Answer {
  const parts: Buffer[] = [];
  for (const answer of answers) parts.push(parts.length === 0 ? OPEN : COMMA, answerBytes(answer));
  return Buffer.concat([...parts, CLOSE]);
}

const COMMA = Buffer.from(',');
const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

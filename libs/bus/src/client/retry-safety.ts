import { IDEMPOTENCY_KEY, ServiceError, type Callable } from '@switchyard/contracts';
import { decodeJson } from '../wire/encoding.ts';

/** A request that was published. */
interface SentRequest {
  callable: Pick<Callable, 'idempotent'>;
  params: Uint8Array;
}

/**
 * Marks an error as "outcome unknown": the request was sent, but no reply arrived. It is retryable only if the method is idempotent or the
 * params have an idempotency key. Services that call on behalf of another caller read `mayHaveRun`.
 */
export function markOutcomeUnknown({ code, message, details, cause }: ServiceError, { callable, params }: SentRequest): ServiceError {
  const retryable = callable.idempotent || hasIdempotencyKey(params);
  return new ServiceError(code, message, { details: { ...details, retryable, mayHaveRun: true }, cause });
}

/** Called only after a failure, so that successful calls do not parse their params. */
function hasIdempotencyKey(params: Uint8Array): boolean {
  if (!Buffer.from(params.buffer, params.byteOffset, params.length).includes(`"${IDEMPOTENCY_KEY}"`)) return false;
  try {
    const decoded = decodeJson(params);
    return typeof decoded === 'object' && decoded !== null && IDEMPOTENCY_KEY in decoded;
  } catch {
    return false;
  }
}

import { IDEMPOTENCY_KEY, ServiceError, type Callable } from '@switchyard/contracts';
import { decodeJson } from '../wire/encoding.ts';

/** A request that was sent. */
interface SentRequest {
  callable: Pick<Callable, 'idempotent'>;
  params: Uint8Array;
}

/**
 * The failure of a request that went out and whose answer did not come: it may have run. It is made again only where running
 * twice is running once, because the contract says so or because the caller gave a key for that. `mayHaveRun` is for those who make
 * a call on behalf of another one, whose repetition is not theirs.
 */
export function markOutcomeUnknown({ code, message, details, cause }: ServiceError, { callable, params }: SentRequest): ServiceError {
  const retryable = callable.idempotent || hasIdempotencyKey(params);
  return new ServiceError(code, message, { details: { ...details, retryable, mayHaveRun: true }, cause });
}

/** Looked for only now that the call has failed: the params of calls that work are not parsed on their way. */
function hasIdempotencyKey(params: Uint8Array): boolean {
  if (!Buffer.from(params.buffer, params.byteOffset, params.length).includes(`"${IDEMPOTENCY_KEY}"`)) return false;
  try {
    const given = decodeJson(params);
    return typeof given === 'object' && given !== null && IDEMPOTENCY_KEY in given;
  } catch {
    return false;
  }
}

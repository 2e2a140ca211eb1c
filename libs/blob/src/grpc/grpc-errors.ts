import { Metadata, status, type ServiceError as GrpcError, type StatusObject } from '@grpc/grpc-js';
import { ERROR_CODES, ServiceError, type ErrorCode, type ErrorDetails } from '@switchyard/contracts';

const DETAILS = 'sy-details';

/** Our codes are those of gRPC; what an error says beyond its code and its words goes beside them. */
export function toStatus({ code, message, details }: ServiceError): Partial<StatusObject> {
  const { reason, retryable, retryAfterMs, offset } = details;
  const metadata = new Metadata();
  metadata.set(DETAILS, JSON.stringify({ reason, retryable, retryAfterMs, offset }));
  return { code: status[code], details: message, metadata };
}

/** What the other side said, or what became of the connection to it. */
export function toError(error: GrpcError): ServiceError {
  const code = codeOf(error.code);
  const [said] = error.metadata?.get(DETAILS) ?? [];
  const details = typeof said === 'string' ? readDetails(said) : undefined;
  if (code !== undefined && details !== undefined) return new ServiceError(code, error.details, { details });
  if (code === 'DEADLINE_EXCEEDED')
    return new ServiceError(code, 'The blob store did not answer in time.', { details: { retryable: true }, cause: error });
  return new ServiceError('UNAVAILABLE', 'The connection to the blob store was lost, or cannot be made.', {
    details: { reason: 'BLOB_STORE_AWAY' },
    cause: error,
  });
}

function codeOf(number: number): ErrorCode | undefined {
  return ERROR_CODES.find((code) => status[code] === (number as status));
}

function readDetails(text: string): ErrorDetails | undefined {
  try {
    return JSON.parse(text) as ErrorDetails;
  } catch {
    return undefined;
  }
}

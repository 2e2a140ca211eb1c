import { Metadata, status, type ServiceError as GrpcError, type StatusObject } from '@grpc/grpc-js';
import { ERROR_CODES, ServiceError, type ErrorDetails } from '@switchyard/contracts';

const DETAILS = 'sy-details';

/** Error codes are those of gRPC. Error details travel as JSON in the metadata. */
export function toStatus({ code, message, details }: ServiceError): Partial<StatusObject> {
  const { reason, retryable, retryAfterMs } = details;
  const metadata = new Metadata();
  metadata.set(DETAILS, JSON.stringify({ reason, retryable, retryAfterMs }));
  return { code: status[code], details: message, metadata };
}

/** Translates an error of the server or of the connection. */
export function toServiceError(error: GrpcError): ServiceError {
  const code = ERROR_CODES.find((one) => status[one] === error.code);
  const [text] = error.metadata?.get(DETAILS) ?? [];
  const details = typeof text === 'string' ? parseDetails(text) : undefined;
  if (code !== undefined && details !== undefined) return new ServiceError(code, error.details, { details });
  if (code === 'DEADLINE_EXCEEDED')
    return new ServiceError(code, 'The blob store did not respond in time.', { details: { retryable: true }, cause: error });
  return new ServiceError('UNAVAILABLE', 'The connection to the blob store failed.', {
    details: { reason: 'BLOB_STORE_AWAY' },
    cause: error,
  });
}

function parseDetails(text: string): ErrorDetails | undefined {
  try {
    return JSON.parse(text) as ErrorDetails;
  } catch {
    return undefined;
  }
}

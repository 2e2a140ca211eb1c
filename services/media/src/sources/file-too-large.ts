import { ServiceError } from '@switchyard/contracts';

export function fileTooLarge(bytes: number, maxBytes: number): ServiceError {
  const details = { reason: 'FILE_TOO_LARGE' };
  return new ServiceError('FAILED_PRECONDITION', `the file has ${bytes} bytes; at most ${maxBytes} bytes are processed`, { details });
}

import { ServiceError } from '@switchyard/contracts';

/** Creates an error for a programming mistake in the use of the store. The message contains no values. */
export function misuseError(collection: string, problem: string): ServiceError {
  return new ServiceError('INTERNAL', `${collection}: ${problem}`);
}

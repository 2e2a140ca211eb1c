import { ServiceError } from '@switchyard/contracts';

/** A mistake of the code that uses the store; says where, never what the value was. */
export function misuseError(collection: string, problem: string): ServiceError {
  return new ServiceError('INTERNAL', `${collection}: ${problem}`);
}

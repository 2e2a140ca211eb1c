import { JetStreamApiError } from '@nats-io/jetstream';
import { errors } from '@nats-io/nats-core';
import { ServiceError } from '@switchyard/contracts';
import { busUnreachableError } from '../wire/errors.ts';

/** The server says that our user may not do this. The client wraps it in an error of the request. */
export function isForbidden(error: unknown): boolean {
  return error instanceof errors.PermissionViolationError || (error instanceof Error && isForbidden(error.cause));
}

/** Whatever the client throws for a server that is not there, callers get one error. */
export async function mapNatsErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TypeError || error instanceof ServiceError || isServerRejection(error)) throw error;
    throw busUnreachableError(error);
  }
}

/** The server was there, and said what it does not like. It has one code for what it cannot do just now. */
function isServerRejection(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.status !== 503;
}

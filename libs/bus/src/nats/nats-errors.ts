import { JetStreamApiError } from '@nats-io/jetstream';
import { errors } from '@nats-io/nats-core';
import { ServiceError } from '@switchyard/contracts';
import { busUnreachableError } from '../wire/errors.ts';

/** Whether the server denied a permission. The client wraps this error in a request error. */
export function isForbidden(error: unknown): boolean {
  return error instanceof errors.PermissionViolationError || (error instanceof Error && isForbidden(error.cause));
}

/** Maps the client's connection errors to one error (BUS_UNREACHABLE). */
export async function mapNatsErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TypeError || error instanceof ServiceError || isServerRejection(error)) throw error;
    throw busUnreachableError(error);
  }
}

/** Whether the server rejected the request. Status 503 means that it is temporarily unable. */
function isServerRejection(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.status !== 503;
}

import { errors } from '@nats-io/nats-core';

/** The server says that our user may not do this. The client wraps it in an error of the request. */
export function isForbidden(error: unknown): boolean {
  return error instanceof errors.PermissionViolationError || (error instanceof Error && isForbidden(error.cause));
}

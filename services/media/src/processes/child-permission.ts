import { ServiceError } from '@switchyard/contracts';

const MESSAGE =
  'security.permission.enableNodePermissions forbids child processes, which read documents and convert media: set it to false for the media service';

/** Explains why this process cannot start others; undefined if it can. */
export function explainNoChildren(): string | undefined {
  return process.permission === undefined || process.permission.has('child') ? undefined : MESSAGE;
}

export function requireChildren(): void {
  const problem = explainNoChildren();
  if (problem !== undefined) throw new ServiceError('FAILED_PRECONDITION', problem, { details: { reason: 'CHILD_PROCESSES_FORBIDDEN' } });
}

import type { ErrorCode, Issue } from '@switchyard/contracts';

/** Machine-readable details of a failure, printed with `--output json`. */
export interface FailureDetail {
  code?: ErrorCode;
  reason?: string;
  requestId?: string;
  turnId?: string;
  retryAfterMs?: number;
  issues?: readonly Issue[];
}

interface FailureOptions {
  /** 1: the call failed. 2: usage error. */
  exitCode?: 1 | 2;
  detail?: FailureDetail;
  cause?: unknown;
}

/** A failure with a sentence for the user and the command to run next. */
export class Failure extends Error {
  readonly next: string;
  readonly exitCode: 1 | 2;
  readonly detail: FailureDetail;

  constructor(sentence: string, next: string, { exitCode = 1, detail = {}, cause }: FailureOptions = {}) {
    super(sentence, cause === undefined ? undefined : { cause });
    this.name = 'Failure';
    this.next = next;
    this.exitCode = exitCode;
    this.detail = detail;
  }
}

/** Creates the failure of an invalid command line (exit code 2). */
export function wrongUsage(sentence: string, next: string): Failure {
  return new Failure(sentence, next, { exitCode: 2 });
}

/** Converts any thrown value to a failure. Stack traces are not shown. */
export function asFailure(error: unknown, next: string): Failure {
  if (error instanceof Failure) return error;
  const [line = ''] = String(error instanceof Error ? error.message : error).split('\n');
  return new Failure(`Internal error, please report it: ${line}`, next, { cause: error });
}

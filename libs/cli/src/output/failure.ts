import type { ErrorCode, Issue } from '@switchyard/contracts';

/** What a program can read of a failure, in `--output json`. */
export interface FailureDetail {
  code?: ErrorCode;
  reason?: string;
  requestId?: string;
  turnId?: string;
  retryAfterMs?: number;
  issues?: readonly Issue[];
}

interface FailureOptions {
  /** 1: the server or the call said no. 2: wrong usage. */
  exitCode?: 1 | 2;
  detail?: FailureDetail;
  cause?: unknown;
}

/** What went wrong, in one sentence for whom it happened to, and the command to run next. */
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

/** The command was not understood. */
export function wrongUsage(sentence: string, next: string): Failure {
  return new Failure(sentence, next, { exitCode: 2 });
}

/** Whatever was thrown, as something to show. A stack is for nobody who reads a terminal. */
export function asFailure(error: unknown, next: string): Failure {
  if (error instanceof Failure) return error;
  const [line = ''] = String(error instanceof Error ? error.message : error).split('\n');
  return new Failure(`This should not have happened: ${line}`, next, { cause: error });
}

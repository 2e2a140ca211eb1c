/** Why the process cannot start, in one sentence that a person can act on. Shown without a stack. */
export class StartError extends Error {
  constructor(sentence: string, options: { cause?: unknown } = {}) {
    super(sentence, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StartError';
  }
}

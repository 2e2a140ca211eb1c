/** The reason why the process cannot start, in one sentence with the remedy. Printed without a stack. */
export class StartError extends Error {
  constructor(sentence: string, options: { cause?: unknown } = {}) {
    super(sentence, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StartError';
  }
}

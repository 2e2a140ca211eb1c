import { ServiceError } from '@switchyard/contracts';

/** How long the first message may take: nothing counts it before it came. */
const FIRST_MS = 10_000;

/** Reads a stream of messages one by one, undefined at its end; a caller that leaves or is sent away ends the waiting too. */
export function readMessages<T>(stream: AsyncIterable<T>, signal: AbortSignal): () => Promise<T | undefined> {
  const iterator = stream[Symbol.asyncIterator]();
  let waiting: ((why: unknown) => void) | undefined;
  let stopped: unknown;

  function stop(why: unknown): void {
    stopped ??= why;
    waiting?.(stopped);
  }

  signal.addEventListener('abort', () => stop(signal.reason), { once: true });
  const first = setTimeout(() => stop(new ServiceError('DEADLINE_EXCEEDED', 'The first message did not come in time.')), FIRST_MS);

  // No race against one promise that outlives all messages: it would hold each of them.
  return () =>
    new Promise((resolve, reject) => {
      if (signal.aborted) stop(signal.reason);
      if (stopped !== undefined) return reject(stopped);
      waiting = reject;
      iterator.next().then(({ done, value }: IteratorResult<T, undefined>) => {
        clearTimeout(first);
        resolve(done === true ? undefined : value);
      }, reject);
    });
}

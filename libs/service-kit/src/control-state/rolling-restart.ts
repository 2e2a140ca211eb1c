import type { Bus } from '@switchyard/bus';
import { RESTART_BUCKET, RESTART_KEY, RollingRestart } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import { watchBucket } from './watched-bucket.ts';

/** `wished` resolves when the rolling restart reaches this process. */
export async function followRestart(bus: Bus, process: string, log: Logger): Promise<AsyncDisposable & { wished: Promise<void> }> {
  const { promise: wished, resolve } = Promise.withResolvers<void>();
  const watched = await watchBucket(bus, RESTART_BUCKET, RollingRestart, log);
  watched.onChange(() => {
    const { state, turn } = watched.entries.get(RESTART_KEY) ?? {};
    if (state === 'running' && turn?.process === process) resolve();
  });
  return { wished, [Symbol.asyncDispose]: () => watched[Symbol.asyncDispose]() };
}

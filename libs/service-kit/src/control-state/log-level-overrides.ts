import type { Bus } from '@switchyard/bus';
import { LEVELS_BUCKET, LEVELS_KEY, LogLevelOverrides } from '@switchyard/contracts';
import { logLevels, type Logger } from '@switchyard/telemetry';
import { watchBucket } from './watched-bucket.ts';

const NOTHING: LogLevelOverrides = { modules: {} };

/** Applies the log-level overrides of the bus to this logger and its children, now and after each change. */
export async function followLevels(bus: Bus, log: Logger): Promise<AsyncDisposable> {
  const levels = logLevels(log);
  const watched = await watchBucket(bus, LEVELS_BUCKET, LogLevelOverrides, log);
  const take = (): void => levels.wish(watched.entries.get(LEVELS_KEY) ?? NOTHING);
  watched.onChange(take);
  take();
  return watched;
}

import type { BucketEntry, Bus } from '@switchyard/bus';
import { LEVELS_BUCKET, LEVELS_KEY, LogLevelOverrides, type LogLevel, type LogModule } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { z } from 'zod';

type Level = z.infer<typeof LogLevel>;

/** A third of the TTL of the entry. */
const RENEW_INTERVAL_MS = 20_000;

/** Log levels of all processes at runtime. They end when the installation stops. */
export interface LogLevels extends AsyncDisposable {
  /** Sets the level of one module, or of all, which resets the levels of modules. */
  set(level: Level, module: LogModule | undefined): Promise<void>;
  /** Resets the level of all modules, because the configuration has a newer one. */
  followConfiguration(): Promise<void>;
}

/** The entry in the bucket expires after a minute unless a replica of the registry writes it again. */
export async function openLogLevels(bus: Bus, log: Logger): Promise<LogLevels> {
  const bucket = await bus.kv(LEVELS_BUCKET);
  let last: LogLevelOverrides = { modules: {} };

  /** Retries if another replica was faster. */
  async function update(next: (levels: LogLevelOverrides) => LogLevelOverrides): Promise<void> {
    for (;;) {
      const entry = await bucket.get(LEVELS_KEY);
      const levels = next(parseEntry(entry) ?? last);
      if ((await bucket.update(LEVELS_KEY, Buffer.from(JSON.stringify(levels)), entry?.revision ?? 0)) === undefined) continue;
      last = levels;
      return;
    }
  }

  const renew = (): Promise<void> => update((levels) => levels);
  const timer = setInterval(() => {
    renew().catch((err: unknown) => log.warn({ err }, 'failed to renew the log levels; retrying'));
  }, RENEW_INTERVAL_MS).unref();
  const unfollow = bus.onRestored(renew);
  await renew();
  return {
    set: (level, module) =>
      update(({ modules, ...levels }) =>
        module === undefined ? { all: level, modules: {} } : { ...levels, modules: { ...modules, [module]: level } },
      ),
    followConfiguration: () => update(({ modules }) => ({ modules })),
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      unfollow();
    },
  };
}

/** Undefined for an unreadable entry, which is then overwritten. */
function parseEntry(entry: BucketEntry | undefined): LogLevelOverrides | undefined {
  if (entry?.value === undefined) return undefined;
  try {
    return LogLevelOverrides.parse(JSON.parse(Buffer.from(entry.value).toString()));
  } catch {
    return undefined;
  }
}

import type { BucketEntry, Bus } from '@switchyard/bus';
import { LEVELS_BUCKET, LEVELS_KEY, LogLevelOverrides, type LogLevel, type LogModule } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { z } from 'zod';

type Level = z.infer<typeof LogLevel>;

/** A third of the TTL of the entry. */
const REPEAT_MS = 20_000;

/** Log levels of all processes at runtime. They end when the installation stops. */
export interface Levels extends AsyncDisposable {
  /** Sets the level of one module, or of all, which resets the levels of modules. */
  set(level: Level, module: LogModule | undefined): Promise<void>;
  /** Resets the level of all modules, because the configuration has a newer one. */
  followConfiguration(): Promise<void>;
}

/** The entry in the bucket expires after a minute unless a replica of the registry writes it again. */
export async function openLevels(bus: Bus, log: Logger): Promise<Levels> {
  const bucket = await bus.kv(LEVELS_BUCKET);
  let last: LogLevelOverrides = { modules: {} };

  /** Retries if another replica was faster. */
  async function change(next: (wish: LogLevelWish) => LogLevelWish): Promise<void> {
    for (;;) {
      const entry = await bucket.get(LEVELS_KEY);
      const wish = next(read(entry) ?? last);
      if ((await bucket.update(LEVELS_KEY, Buffer.from(JSON.stringify(wish)), entry?.revision ?? 0)) === undefined) continue;
      last = wish;
      return;
    }
  }

  const repeat = (): Promise<void> => change((wish) => wish);
  const timer = setInterval(() => {
    repeat().catch((err: unknown) => log.warn({ err }, 'failed to renew the log levels; retrying'));
  }, REPEAT_MS).unref();
  const unfollow = bus.onRestored(repeat);
  await repeat();
  return {
    set: (level, module) =>
      change(({ modules, ...wish }) =>
        module === undefined ? { all: level, modules: {} } : { ...wish, modules: { ...modules, [module]: level } },
      ),
    followConfiguration: () => change(({ modules }) => ({ modules })),
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      unfollow();
    },
  };
}

/** Undefined for an unreadable entry, which is then overwritten. */
function read(entry: BucketEntry | undefined): LogLevelWish | undefined {
  if (entry?.value === undefined) return undefined;
  try {
    return LogLevelOverrides.parse(JSON.parse(Buffer.from(entry.value).toString()));
  } catch {
    return undefined;
  }
}

import type { BucketEntry, Bus } from '@switchyard/bus';
import { LEVELS_BUCKET, LEVELS_KEY, LogLevelOverrides, type LogLevel, type LogModule } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { z } from 'zod';

type Level = z.infer<typeof LogLevel>;

/** A third of the time after which the wish ends that nobody writes again. */
const REPEAT_MS = 20_000;

/** How much everybody logs, until the installation ends: what every process follows. */
export interface Levels extends AsyncDisposable {
  /** In one module, or everywhere, which takes back what was said of modules. */
  set(level: Level, module: LogModule | undefined): Promise<void>;
  /** Takes back what was said of everywhere: the configuration has said something newer. */
  followConfiguration(): Promise<void>;
}

/**
 * The wish lives as long as a replica of the registry writes it again. One that starts later takes it up; after everything was
 * stopped for a minute it is gone.
 */
export async function openLevels(bus: Bus, log: Logger): Promise<Levels> {
  const bucket = await bus.kv(LEVELS_BUCKET);
  let last: LogLevelOverrides = { modules: {} };

  /** Of replicas that change it at once, each changes what the other left. */
  async function change(next: (wish: LogLevelOverrides) => LogLevelOverrides): Promise<void> {
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
    repeat().catch((err: unknown) => log.warn({ err }, 'how much is logged was not said again; it is tried in a moment'));
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

/** What cannot be read is written anew. */
function read(entry: BucketEntry | undefined): LogLevelOverrides | undefined {
  if (entry?.value === undefined) return undefined;
  try {
    return LogLevelOverrides.parse(JSON.parse(Buffer.from(entry.value).toString()));
  } catch {
    return undefined;
  }
}

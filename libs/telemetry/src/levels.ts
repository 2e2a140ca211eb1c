/** From loud to quiet. `audit` says who did what, and stands above `info`. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'audit', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How much is written: everywhere, and in some modules. */
export interface LevelSet {
  all?: LogLevel | undefined;
  modules: Readonly<Record<string, LogLevel>>;
}

/** Decides how much a logger and all that come from it write. What is wished stands above what is configured. */
export interface Levels {
  configure(levels: LevelSet & { all: LogLevel }): void;
  /** All that anybody wishes by now; what was wished before is forgotten. */
  wish(levels: LevelSet): void;
}

/** What the levels of a family of loggers work with: any object with a level. */
export interface Levelled {
  level: string;
}

/** Whose lines a logger writes: the module that says them, and the service that it is a part of. */
export interface Names {
  module: string;
  service: string | undefined;
}

/** The same, for those who make loggers. */
export interface LevelRegistry extends Levels {
  /** From now on this logger has the level of its names. It is not kept alive for that. */
  add(logger: Levelled, names: Names): void;
}

const NOTHING: LevelSet = { modules: {} };
/** Loggers that are gone are forgotten when so many more have come. */
const SWEEP_EVERY = 100;

/**
 * A level is set on the loggers of a module when it changes, and inherited by their children. So a line that is not written costs
 * what it costs in pino: the call of a function that does nothing.
 */
export function createLevels(root: Levelled): LevelRegistry {
  const known = new Map<WeakRef<Levelled>, Names>();
  /** Those that were ever given a level of their own: they inherit none any more. */
  const own = new WeakSet<Levelled>();
  let configured: LevelSet | undefined;
  let wished = NOTHING;
  let before: string | undefined;

  /** What is written where no module is named. Until it is configured, it is what the caller gave the logger. */
  function everywhere(): string {
    return wished.all ?? configured?.all ?? before ?? root.level;
  }

  function levelOf(names: Names): string | undefined {
    return namedIn(wished, names) ?? (wished.all === undefined ? namedIn(configured ?? NOTHING, names) : undefined);
  }

  function settle(logger: Levelled, names: Names): void {
    const level = levelOf(names);
    if (level === undefined && !own.has(logger)) return;
    own.add(logger);
    logger.level = level ?? root.level;
  }

  function apply(): void {
    root.level = everywhere();
    for (const [ref, names] of known) {
      const logger = ref.deref();
      if (logger === undefined) known.delete(ref);
      else settle(logger, names);
    }
  }

  return {
    add(logger, names) {
      if (known.size % SWEEP_EVERY === SWEEP_EVERY - 1) for (const ref of known.keys()) if (ref.deref() === undefined) known.delete(ref);
      known.set(new WeakRef(logger), names);
      settle(logger, names);
    },
    configure(levels) {
      configured = levels;
      apply();
    },
    wish(levels) {
      if (wished.all === undefined) before = root.level;
      wished = levels;
      apply();
    },
  };
}

function namedIn({ modules }: LevelSet, { module, service }: Names): string | undefined {
  if (Object.hasOwn(modules, module)) return modules[module];
  return service !== undefined && Object.hasOwn(modules, service) ? modules[service] : undefined;
}

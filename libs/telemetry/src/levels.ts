/** From most to least verbose. `audit` records who did what and is above `info`. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'audit', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Log levels: the general one and those of some modules. */
export interface LevelSet {
  all?: LogLevel | undefined;
  modules: Readonly<Record<string, LogLevel>>;
}

/** Sets the levels of a logger and its children. Levels of `wish` take precedence over configured ones. */
export interface Levels {
  configure(levels: LevelSet & { all: LogLevel }): void;
  /** Sets temporary levels and replaces the previous ones. */
  wish(levels: LevelSet): void;
}

/** Any object with a level, such as a logger. */
export interface Levelled {
  level: string;
}

/** The module and the service of a logger. */
export interface Names {
  module: string;
  service: string | undefined;
}

/** Levels for code that creates loggers. */
export interface LevelRegistry extends Levels {
  /** Applies the levels of these names to a logger from now on. Holds the logger weakly. */
  add(logger: Levelled, names: Names): void;
}

const NOTHING: LevelSet = { modules: {} };
/** Number of added loggers after which collected ones are removed. */
const SWEEP_EVERY = 100;

/**
 * Sets a changed level on the loggers of a module; their children inherit it. A disabled line therefore costs the same as in pino:
 * one call of an empty function.
 */
export function createLevels(root: Levelled): LevelRegistry {
  const known = new Map<WeakRef<Levelled>, Names>();
  /** Loggers that once had their own level; pino no longer inherits a level for them. */
  const own = new WeakSet<Levelled>();
  let configured: LevelSet | undefined;
  let wished = NOTHING;
  let before: string | undefined;

  /** Returns the level of the root logger; without configuration the initial level of the caller. */
  function everywhere(): string {
    return wished.all ?? configured?.all ?? before ?? root.level;
  }

  function getLevel(names: Names): string | undefined {
    return namedIn(wished, names) ?? (wished.all === undefined ? namedIn(configured ?? NOTHING, names) : undefined);
  }

  function settle(logger: Levelled, names: Names): void {
    const level = getLevel(names);
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

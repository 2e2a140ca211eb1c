import { mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  pino,
  type ChildLoggerOptions,
  type DestinationStream,
  type LogFn,
  type Logger as PinoLogger,
  type LoggerOptions as PinoOptions,
} from 'pino';
import { createLevels, type LevelRegistry, type Levels, type LogLevel, type Names } from './levels.ts';
import { redact, redactKnown } from './object-redaction.ts';
import { scrub, scrubKnown } from './text-redaction.ts';
import { parseTraceparent } from './trace-context.ts';

/** One JSON line per record; `child` binds fields such as `service` and `requestId`. Secrets never reach the line. */
export type Logger = PinoLogger<'audit'>;

const AUDIT = 35;
const STDERR = 2;
/** The module of what no module says. */
const PROCESS = 'process';

export interface LogOptions {
  level?: LogLevel;
  /** A file's path, a file descriptor, or a stream; standard error unless said. */
  destination?: string | number | DestinationStream;
  /** On every line: `module`, `service`, `replica`. */
  base?: Record<string, unknown>;
  /** Whether what stands under the name of a secret, or looks like one, is left out. The values of known secrets always are. */
  redaction?: boolean;
  /** Whether the lines of `audit` are written. */
  audit?: boolean;
}

/**
 * Nothing of a record is looked at unless its level is written. Every line names its module: what `child` bound as `module`, else as
 * `service`. How much a module writes is said to `logLevels`; changing `level` changes it for every child that has none of its own.
 */
export function createLogger({
  level = 'info',
  destination = STDERR,
  base: named = {},
  redaction = true,
  audit = true,
}: LogOptions = {}): Logger {
  const { module, ...base } = named;
  const safe = redaction ? { fields: redact, text: scrub } : { fields: redactKnown, text: scrubKnown };
  const options: PinoOptions<'audit'> = {
    level,
    customLevels: { audit: AUDIT },
    base: safe.fields(base),
    mixin: (_fields, _level, logger) => ({ module: (logger as unknown as Plain)[NAMES].module }),
    mixinMergeStrategy: (fields, names) => ({ ...names, ...safe.fields(fields) }),
    // Errors are taken apart by `redact`; pino's own serializer would do it again.
    serializers: { msg: (msg: unknown) => (typeof msg === 'string' ? safe.text(msg) : msg), err: (err: unknown) => err },
    ...(audit ? {} : { hooks: { logMethod: withoutAudit } }),
  };
  const logger = pino<'audit'>(options, typeof destination === 'object' ? destination : openDestination(destination));
  return withoutSecrets(logger, { module: typeof module === 'string' ? module : PROCESS, service: undefined }, safe.fields);
}

function withoutAudit(this: PinoLogger, args: Parameters<LogFn>, write: LogFn, level: number): void {
  if (level !== AUDIT) write.apply(this, args);
}

/** Decides how much this logger, those it came from and all their children write. */
export function logLevels(log: Logger): Levels {
  return (log as unknown as Plain)[LEVELS];
}

/** Writes nothing; for tests and for what has not been given a log. */
export function silentLogger(): Logger {
  return createLogger({ level: 'silent' });
}

/** Binds what finds a request's lines again: its id, and the trace it belongs to. */
export function bindTrace(log: Logger, ids: { requestId?: string; traceparent?: string | undefined }): Logger {
  const trace = parseTraceparent(ids.traceparent);
  return log.child({
    ...(ids.requestId === undefined ? {} : { requestId: ids.requestId }),
    ...(trace === undefined ? {} : { traceId: trace.traceId }),
  });
}

const NAMES = Symbol('names');
const LEVELS = Symbol('levels');

/** pino formats the fields of a line, but not those bound by `child`. Those that say whose lines it writes name the child. */
function withoutSecrets(logger: Logger, names: Names, safe: typeof redact): Logger {
  const inherited = Object.getPrototypeOf(logger) as Pick<Plain, 'child'>;
  return Object.assign(logger, {
    [NAMES]: names,
    [LEVELS]: createLevels(logger),
    child(this: Plain, { module, ...bindings }: Record<string, unknown>, options?: ChildLoggerOptions): Plain {
      const child = inherited.child.call(this, safe(bindings), options);
      const service = typeof bindings['service'] === 'string' ? bindings['service'] : undefined;
      return typeof module === 'string' ? named(child, module, service) : service === undefined ? child : named(child, service, service);
    },
  });
}

/** A module within a service is a part of it, also where a logger of the service made it. */
function named(logger: Plain, module: string, service = logger[NAMES].service): Plain {
  logger[NAMES] = { module, service };
  logger[LEVELS].add(logger, logger[NAMES]);
  return logger;
}

interface Plain {
  level: string;
  [NAMES]: Names;
  [LEVELS]: LevelRegistry;
  child(this: Plain, bindings: Record<string, unknown>, options?: ChildLoggerOptions): Plain;
}

/** Written without waiting; what is left is written when the process exits. A file is opened here and now: exiting at once must not fail. */
function openDestination(destination: string | number): DestinationStream {
  const fd = typeof destination === 'number' ? destination : openLogFile(destination);
  return pino.destination({ dest: fd, sync: false });
}

function openLogFile(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return openSync(path, 'a', 0o600);
}

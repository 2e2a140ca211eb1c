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

/** A pino logger with JSON lines; `child` binds fields such as `service` and `requestId`. Secrets are redacted. */
export type Logger = PinoLogger<'audit'>;

const AUDIT = 35;
const ERROR = 50;
const STDERR = 2;
/** Module name of lines without a module. */
const PROCESS = 'process';

export interface LogOptions {
  level?: LogLevel;
  /** A file path, a file descriptor or a stream; standard error by default. */
  destination?: string | number | DestinationStream;
  /** Fields of every line: `module`, `service`, `replica`. */
  base?: Record<string, unknown>;
  /** Whether values of secret keys and texts in a secret format are redacted. Masked values are always redacted. */
  redaction?: boolean;
  /** Whether `audit` lines are written. */
  audit?: boolean;
}

/**
 * Creates a logger. The fields of a disabled line are never read. Every line contains its module: the bound `module`, or else the
 * `service`. `logLevels` sets the levels of modules; changing `level` changes it for every child without its own level.
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
    mixin: (_fields, _level, logger) => ({ module: (logger as unknown as PlainLogger)[NAMES].module }),
    mixinMergeStrategy: (fields, names) => ({ ...names, ...safe.fields(fields) }),
    // `redact` already serializes errors; pino's serializer would do it again.
    serializers: { msg: (msg: unknown) => (typeof msg === 'string' ? safe.text(msg) : msg), err: (err: unknown) => err },
    hooks: { logMethod: audit ? notifyingErrors : withoutAudit },
  };
  const logger = pino<'audit'>(options, typeof destination === 'object' ? destination : openDestination(destination));
  return withoutSecrets(logger, { module: typeof module === 'string' ? module : PROCESS, service: undefined }, safe.fields);
}

function withoutAudit(this: PinoLogger, args: Parameters<LogFn>, write: LogFn, level: number): void {
  if (level !== AUDIT) notifyingErrors.call(this, args, write, level);
}

function notifyingErrors(this: PinoLogger, args: Parameters<LogFn>, write: LogFn, level: number): void {
  write.apply(this, args);
  if (level < ERROR) return;
  const logger = this as unknown as PlainLogger;
  const [fields, text] = args as readonly unknown[];
  const errorKind = typeof fields === 'object' && fields !== null && 'errorKind' in fields ? String(fields.errorKind) : 'internal';
  const { module, service } = logger[NAMES];
  const message = [text, fields].find((one) => typeof one === 'string') ?? 'an error without a text';
  for (const listener of logger[ERRORS]) listener({ message, errorKind, source: service ?? module });
}

/** A line of level error or fatal. The message is the text of the line, which contains no values. */
export interface LoggedError {
  message: string;
  errorKind: string;
  /** Service of the logger, or else its module. */
  source: string;
}

/** Calls the listener after each error line of this logger, its parents and all their children. */
export function onErrorLine(log: Logger, listener: (error: LoggedError) => void): Disposable {
  const listeners = (log as unknown as PlainLogger)[ERRORS];
  listeners.add(listener);
  return { [Symbol.dispose]: () => void listeners.delete(listener) };
}

/** Returns the levels of this logger, its parents and all their children. */
export function logLevels(log: Logger): Levels {
  return (log as unknown as PlainLogger)[LEVELS];
}

/** Returns a logger that writes nothing, for tests and as a default. */
export function silentLogger(): Logger {
  return createLogger({ level: 'silent' });
}

/** Binds the id and the trace of a request, so that its lines can be found. */
export function bindTrace(log: Logger, ids: { requestId?: string; traceparent?: string | undefined }): Logger {
  const trace = parseTraceparent(ids.traceparent);
  return log.child({
    ...(ids.requestId === undefined ? {} : { requestId: ids.requestId }),
    ...(trace === undefined ? {} : { traceId: trace.traceId }),
  });
}

const NAMES = Symbol('names');
const LEVELS = Symbol('levels');
const ERRORS = Symbol('errors');

/** Redacts fields bound by `child`, which pino's formatters do not see. Reads the module and service of a child from its bindings. */
function withoutSecrets(logger: Logger, names: Names, safe: typeof redact): Logger {
  const inherited = Object.getPrototypeOf(logger) as Pick<PlainLogger, 'child'>;
  return Object.assign(logger, {
    [NAMES]: names,
    [LEVELS]: createLevels(logger),
    [ERRORS]: new Set<(error: LoggedError) => void>(),
    child(this: PlainLogger, { module, ...bindings }: Record<string, unknown>, options?: ChildLoggerOptions): PlainLogger {
      const child = inherited.child.call(this, safe(bindings), options);
      const service = typeof bindings['service'] === 'string' ? bindings['service'] : undefined;
      return typeof module === 'string' ? named(child, module, service) : service === undefined ? child : named(child, service, service);
    },
  });
}

/** Sets the module and the service of a logger and registers it for levels. */
function named(logger: PlainLogger, module: string, service = logger[NAMES].service): PlainLogger {
  logger[NAMES] = { module, service };
  logger[LEVELS].add(logger, logger[NAMES]);
  return logger;
}

interface PlainLogger {
  level: string;
  [NAMES]: Names;
  [LEVELS]: LevelRegistry;
  [ERRORS]: Set<(error: LoggedError) => void>;
  child(this: PlainLogger, bindings: Record<string, unknown>, options?: ChildLoggerOptions): PlainLogger;
}

/** Opens an asynchronous destination, which is flushed when the process exits. Opens a file synchronously, so that an immediate exit works. */
function openDestination(destination: string | number): DestinationStream {
  const fd = typeof destination === 'number' ? destination : openLogFile(destination);
  return pino.destination({ dest: fd, sync: false });
}

function openLogFile(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return openSync(path, 'a', 0o600);
}

import { mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { pino, type ChildLoggerOptions, type DestinationStream, type Logger as PinoLogger, type LoggerOptions as PinoOptions } from 'pino';
import { redact } from './redact.ts';
import { scrub } from './scrub.ts';
import { parseTraceparent } from './trace-context.ts';

/** One JSON line per record; `child` binds fields such as `service` and `requestId`. Secrets never reach the line. */
export type Logger = PinoLogger<'audit'>;

/** From loud to quiet. `audit` says who did what, and stands above `info`. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'audit', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const AUDIT = 35;
const STDERR = 2;

export interface LogOptions {
  level?: LogLevel;
  /** A file's path, a file descriptor, or a stream; standard error unless said. */
  destination?: string | number | DestinationStream;
  /** On every line: `module`, `service`, `replica`. */
  base?: Record<string, unknown>;
}

/** Nothing of a record is looked at unless its level is written. Changing `level` changes it for every child. */
export function createLogger({ level = 'info', destination = STDERR, base = {} }: LogOptions = {}): Logger {
  const options: PinoOptions<'audit'> = {
    level,
    customLevels: { audit: AUDIT },
    base: redact(base),
    formatters: { log: redact },
    // Errors are taken apart by `redact`; pino's own serializer would do it again.
    serializers: { msg: (msg: unknown) => (typeof msg === 'string' ? scrub(msg) : msg), err: (err: unknown) => err },
  };
  return withoutSecrets(pino<'audit'>(options, typeof destination === 'object' ? destination : openDestination(destination)));
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

/** pino formats the fields of a line, but not those bound by `child`. */
function withoutSecrets(logger: Logger): Logger {
  const inherited = Object.getPrototypeOf(logger) as Pick<Plain, 'child'>;
  return Object.assign(logger, {
    child(this: Plain, bindings: Record<string, unknown>, options?: ChildLoggerOptions): Plain {
      return inherited.child.call(this, redact(bindings), options);
    },
  });
}

interface Plain {
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

import type { Logger as PinoLogger } from 'pino';

/** One JSON line per record; `child` binds fields such as `service` and `requestId`. */
export type Logger = PinoLogger;

import type { Bus } from '@switchyard/bus';
import { onErrorLine, type Logger, type LoggedError } from '@switchyard/telemetry';
import type { Clock } from '../scheduling/clock.ts';

/** Interval within which an error is published once. An outage logs the same error many times. */
const REPEAT_INTERVAL_MS = 60_000;
const MAX_ERRORS = 200;
const MAX_MESSAGE_CHARS = 2_048;
const MAX_NAME_CHARS = 256;

export interface EmitErrorsOptions {
  bus: Pick<Bus, 'emit'>;
  log: Logger;
  clock: Pick<Clock, 'now'>;
}

/** Publishes each error line of the process as `system:error`. Only the text of the line is published, because its fields may hold values. */
export function emitErrors({ bus, log, clock }: EmitErrorsOptions): Disposable {
  const published = new Map<string, number>();
  let publishing = false;
  const publish = ({ message, errorKind, source }: LoggedError): void => {
    const key = `${source} ${message}`;
    const last = published.get(key);
    // A failure to publish logs an error too, which must not be published again.
    if (publishing || (last !== undefined && clock.now() - last < REPEAT_INTERVAL_MS)) return;
    if (published.size >= MAX_ERRORS) published.clear();
    published.set(key, clock.now());
    publishing = true;
    try {
      const error = { message: message.slice(0, MAX_MESSAGE_CHARS), errorKind: errorKind.slice(0, MAX_NAME_CHARS) };
      bus.emit('system:error', { error, source: source.slice(0, MAX_NAME_CHARS) });
    } catch (err) {
      log.warn({ err }, 'failed to publish an error');
    } finally {
      publishing = false;
    }
  };
  return onErrorLine(log, publish);
}

import { context, SeverityNumber, trace, type Attributes, type Logger } from '@opentelemetry/api';
import { parseTraceparent } from './trace-context.ts';

export interface EventOptions {
  /** Header of the span to which the event belongs. */
  traceparent?: string | undefined;
  severity?: 'info' | 'warn';
}

let logger: Logger | undefined;

/** Turns the export of events on, or off with undefined. */
export function setEventLogger(next: Logger | undefined): void {
  logger = next;
}

/** Whether events are exported. Check it before expensive preparations of an event. */
export function exportsEvents(): boolean {
  return logger !== undefined;
}

/** Exports an OpenTelemetry event. Does nothing while no exporter is configured. */
export function emitEvent(eventName: string, attributes: Attributes, { traceparent, severity = 'info' }: EventOptions = {}): void {
  if (logger === undefined) return;
  const span = parseTraceparent(traceparent);
  const within =
    span === undefined
      ? context.active()
      : trace.setSpanContext(context.active(), { traceId: span.traceId, spanId: span.spanId, traceFlags: span.sampled ? 1 : 0 });
  const severityNumber = severity === 'warn' ? SeverityNumber.WARN : SeverityNumber.INFO;
  logger.emit({ eventName, attributes, severityNumber, severityText: severity.toUpperCase(), context: within });
}

export { bindTrace, createLogger, LOG_LEVELS, silentLogger, type Logger, type LogLevel, type LogOptions } from './logger.ts';
export { counter, histogram, type Counter, type Histogram } from './metrics.ts';
export { redact } from './redact.ts';
export { scrub } from './scrub.ts';
export { startSpan, tracing, withSpan, type Span } from './spans.ts';
export { startTelemetry, type Telemetry } from './telemetry.ts';
export { continueTrace, parseTraceparent, type Trace } from './trace-context.ts';

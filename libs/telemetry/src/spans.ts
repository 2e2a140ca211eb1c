import {
  context,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span as ApiSpan,
  type SpanOptions,
  type Tracer,
} from '@opentelemetry/api';
import { scrub } from './text-redaction.ts';
import { makeTrace, parseTraceparent } from './trace-context.ts';

/** A span. While tracing is off it only passes its parent on. */
export interface Span {
  /** Header for the next process. */
  readonly traceparent: string | undefined;
  set(attributes: Attributes): void;
  /** Ends the span. An error marks it as failed, with its code and without its stack. Idempotent. */
  end(error?: unknown): void;
}

let tracer: Tracer | undefined;

/** Turns span recording on, or off with undefined. */
export function setTracer(next: Tracer | undefined): void {
  tracer = next;
}

/** Whether spans are recorded. Check it before expensive preparations of a span. */
export function tracing(): boolean {
  return tracer !== undefined;
}

/** Starts a span for work that ends in a callback or a stream. The caller must end it. */
export function startSpan(name: string, attributes?: Attributes, parent?: string): Span {
  return start(name, { attributes: attributes ?? {} }, parent);
}

/** Like `startSpan`, for a request to a remote server. */
export function startClientSpan(name: string, attributes: Attributes, parent?: string): Span {
  return start(name, { attributes, kind: SpanKind.CLIENT }, parent);
}

function start(name: string, options: SpanOptions, parent: string | undefined): Span {
  return tracer === undefined ? passThrough(parent) : recorded(tracer.startSpan(name, options, parentContext(parent)));
}

/** Runs `fn` in a span that ends with its result or promise. While tracing is off it only calls `fn`. */
export function withSpan<T>(name: string, attributes: Attributes, parent: string | undefined, fn: (span: Span) => T): T {
  if (tracer === undefined) return fn(passThrough(parent));
  const within = parentContext(parent);
  const api = tracer.startSpan(name, { attributes }, within);
  return endWith(recorded(api), () => context.with(trace.setSpan(within, api), fn, undefined, recorded(api)));
}

function endWith<T>(span: Span, run: () => T): T {
  let result: T;
  try {
    result = run();
  } catch (error) {
    span.end(error);
    throw error;
  }
  if (!(result instanceof Promise)) {
    span.end();
    return result;
  }
  return result.then(
    (value: unknown) => {
      span.end();
      return value;
    },
    (error: unknown) => {
      span.end(error);
      throw error;
    },
  ) as T;
}

function passThrough(parent: string | undefined): Span {
  return { traceparent: parent, set: ignore, end: ignore };
}

function ignore(): void {
  // Nothing is recorded while tracing is off.
}

function recorded(span: ApiSpan): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceparent: makeTrace(traceId, spanId, (traceFlags & 1) === 1).traceparent,
    set: (attributes) => void span.setAttributes(attributes),
    end(error) {
      if (!span.isRecording()) return;
      if (error !== undefined) markFailed(span, error);
      span.end();
    },
  };
}

function markFailed(span: ApiSpan, error: unknown): void {
  const { code, name, message }: Error & { code?: unknown } = error instanceof Error ? error : new Error(String(error));
  span.setAttribute('error.type', typeof code === 'string' ? code : name);
  span.setStatus({ code: SpanStatusCode.ERROR, message: scrub(message) });
}

/** Returns the parent context of the header, or the active context without a header. */
function parentContext(header: string | undefined): Context {
  const parent = parseTraceparent(header);
  if (parent === undefined) return context.active();
  const { traceId, spanId, sampled } = parent;
  return trace.setSpanContext(context.active(), { traceId, spanId, traceFlags: sampled ? 1 : 0, isRemote: true });
}

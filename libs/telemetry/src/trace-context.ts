import { randomFillSync } from 'node:crypto';

/** A position in a trace, in the terms of W3C trace context. */
export interface Trace {
  traceId: string;
  /** The parent span of the next span. */
  spanId: string;
  sampled: boolean;
  /** The header for the next process. */
  traceparent: string;
}

const HEADER = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;

/** Parses a header; undefined if it is not valid. Headers of later versions are read up to the fields of version 00. */
export function parseTraceparent(header: unknown): Trace | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = HEADER.exec(header) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  return makeTrace(traceId, spanId, (Number.parseInt(flags, 16) & 1) === 1);
}

/** Returns the trace of a valid header, or a new trace. Records nothing. */
export function continueTrace(header?: unknown): Trace {
  const trace = parseTraceparent(header);
  if (trace !== undefined) return trace;
  const traceId = randomHex(TRACE_BYTES);
  return makeTrace(traceId, randomHex(SPAN_BYTES), samplesNew(traceId));
}

export function makeTrace(traceId: string, spanId: string, sampled: boolean): Trace {
  return { traceId, spanId, sampled, traceparent: `00-${traceId}-${spanId}-${sampled ? '01' : '00'}` };
}

/** Decides whether a new trace is sampled. While tracing is off no trace is sampled, so other services do not record it. */
let samplesNew: (traceId: string) => boolean = () => false;

/** Sets the sampling decision for new traces; undefined turns sampling off. */
export function setSampling(decide: ((traceId: string) => boolean) | undefined): void {
  samplesNew = decide ?? (() => false);
}

const pool = Buffer.allocUnsafe(4_096);
let used = pool.length;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}

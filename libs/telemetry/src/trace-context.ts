import { randomFillSync } from 'node:crypto';

/** Where a piece of work stands in a trace, as W3C trace context writes it. */
export interface Trace {
  traceId: string;
  /** The span that is the parent of whatever comes next. */
  spanId: string;
  sampled: boolean;
  /** The header that says the same to the next process. */
  traceparent: string;
}

const HEADER = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;

/** Undefined for anything that is not a valid header; a later version's header is read as far as ours goes. */
export function parseTraceparent(header: unknown): Trace | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = HEADER.exec(header) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  return makeTrace(traceId, spanId, (Number.parseInt(flags, 16) & 1) === 1);
}

/** The caller's trace, or a new one where none (or none that is valid) came. Nothing is recorded by it. */
export function continueTrace(header?: unknown): Trace {
  const trace = parseTraceparent(header);
  if (trace !== undefined) return trace;
  const traceId = randomHex(TRACE_BYTES);
  return makeTrace(traceId, randomHex(SPAN_BYTES), samplesNew(traceId));
}

export function makeTrace(traceId: string, spanId: string, sampled: boolean): Trace {
  return { traceId, spanId, sampled, traceparent: `00-${traceId}-${spanId}-${sampled ? '01' : '00'}` };
}

/** Nothing samples while tracing is off, so nobody behind us is told to. */
let samplesNew: (traceId: string) => boolean = () => false;

/** Says which of the traces that begin here are recorded; set while tracing is on. */
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

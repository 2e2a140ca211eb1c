import { INLINE_BYTES, ServiceError, describeIssues, parseParams } from '@switchyard/contracts';
import { histogram, startSpan, tracing, type LogThrottle, type Histogram } from '@switchyard/telemetry';
import { trackEmits, throwEmitBreach } from '../client/emit-check.ts';
import { EMPTY, decodeJson, encodeJson } from '../wire/encoding.ts';
import { CallContext } from './call-context.ts';
import {
  HEARTBEAT_HEADERS,
  cancelledError,
  encodeError,
  errorHeaders,
  internalError,
  serverShutdownError,
  payloadTooLargeError,
} from '../wire/errors.ts';
import { PRINCIPAL, TRACEPARENT } from '../wire/headers.ts';
import {
  collectPayload,
  openPayload,
  storeResult,
  formatPayloadHeader,
  readPayloadRef,
  type LargePayload,
  type LargePayloads,
} from '../payloads/large-payloads.ts';
import { logFailure, type FailedCall } from './failed-call-log.ts';
import { markOutcomeUnknown } from '../client/retry-safety.ts';
import { decodePrincipal } from '../wire/principal-header.ts';
import { exceedsInlineLimit } from '../client/request.ts';
import { openParams, sealResult } from './sealed-call.ts';
import { getSignal, stopCall, type ServedMethod, type ActiveCall } from './active-call.ts';
import type { Message } from '../wire/transport.ts';
import type { BusContext } from '../client/bus-context.ts';
import { writeStream } from './stream-writer.ts';

/** Errors above this size lose their details, so that an error always arrives. */
const MAX_ERROR_BYTES = 64 * 1024;

/** State of a served contract. `running` has the calls by reply subject, without those that finish within one event-loop turn. */
export interface CallServer {
  readonly context: BusContext;
  readonly running: Map<string, ActiveCall>;
  /** Groups the log lines of rejected calls. */
  readonly rejectionLog: LogThrottle<FailedCall>;
  /** Set while calls are running. */
  heartbeatTimer: NodeJS.Timeout | undefined;
  onIdle: (() => void) | undefined;
}

/** Handles one call. Never throws, whatever the caller sends or the handler does. */
export function answerCall(server: CallServer, method: ServedMethod, message: Message): void {
  const call = acceptCall(server, method, message);
  if (call === undefined) return;
  const ref = readPayloadRef(message);
  if (ref === undefined) dispatchCall(server, call);
  else
    fetchParams(server, call, openPayload({ large: server.context.large, tenant: call.principal.tenant }, ref)).catch((error: unknown) =>
      failCall(server, call, error),
    );
}

/** Fetches large params. They are limited to the size of a message. */
async function fetchParams(server: CallServer, call: ActiveCall, large: LargePayload): Promise<void> {
  trackCall(server, call);
  call.params = await collectPayload(
    `The request to ${call.method.callable.name}`,
    large,
    server.context.transport.maxPayload,
    getSignal(call),
  );
  if (call.stopReason === undefined) dispatchCall(server, call);
  else endCall(server, call, call.stopReason);
}

function dispatchCall(server: CallServer, call: ActiveCall): void {
  if (server.context.checkResults) trackEmits(call, () => parseAndRun(server, call));
  else parseAndRun(server, call);
}

function parseAndRun(server: CallServer, call: ActiveCall): void {
  try {
    const body = parseJson(call.params);
    if (call.method.callable.sealed === undefined) runHandler(server, call, body);
    else runSealed(server, call, body).catch((error: unknown) => failCall(server, call, error));
  } catch (error) {
    failCall(server, call, error);
  }
}

async function runSealed(server: CallServer, call: ActiveCall, body: unknown): Promise<void> {
  trackCall(server, call);
  const opened = await openParams(call, body);
  if (call.stopReason === undefined) runHandler(server, call, opened);
  else endCall(server, call, call.stopReason);
}

function runHandler(server: CallServer, call: ActiveCall, body: unknown): void {
  const { method } = call;
  try {
    const params = parseParams(method.callable.spec.params, body);
    const result = method.handler(params, new CallContext(server.context, call));
    if (!method.callable.streams && !isPromise(result)) return sendResult(server, call, result);
    trackCall(server, call);
    if (isPromise(result))
      result.then(
        (value) => sendResult(server, call, value),
        (error: unknown) => failCall(server, call, error),
      );
    else answerStream(server, call, result);
  } catch (error) {
    failCall(server, call, error);
  }
}

/** Rejects calls without a principal. */
function acceptCall(server: CallServer, method: ServedMethod, message: Message): ActiveCall | undefined {
  const { reply } = message;
  if (reply === undefined) return undefined;
  const principal = decodePrincipal(message.header(PRINCIPAL) ?? '');
  if (principal === undefined) {
    sendError(server.context, reply, new ServiceError('UNAUTHENTICATED', 'Missing principal header.'));
    return undefined;
  }
  return {
    method,
    reply,
    principal,
    message,
    params: message.data,
    span: tracing() ? startSpan(method.callable.name, undefined, message.header(TRACEPARENT)) : undefined,
    startedAt: performance.now(),
    deadline: 0,
    controller: undefined,
    timer: undefined,
    stopReason: undefined,
    send: undefined,
    tracked: false,
    ended: false,
  };
}

/** Registers a call that outlasts one event-loop turn. Only registered calls can be cancelled or awaited. */
function trackCall(server: CallServer, call: ActiveCall): void {
  server.running.set(call.reply, call);
  call.tracked = true;
  server.heartbeatTimer ??= setInterval(sendHeartbeats, server.context.calls.aliveMs, server).unref();
}

/** Publishes a heartbeat for every unary call older than `aliveMs`. Streams send their own. Stops when no call is running. */
function sendHeartbeats(server: CallServer): void {
  const { context, running } = server;
  if (running.size === 0) return stopHeartbeats(server);
  const before = performance.now() - context.calls.aliveMs;
  for (const { reply, method, stopReason, startedAt } of running.values()) {
    if (stopReason !== undefined || method.callable.streams || startedAt > before) continue;
    context.transport.publish({ subject: reply, data: EMPTY, headers: HEARTBEAT_HEADERS });
  }
}

function stopHeartbeats(server: CallServer): void {
  clearInterval(server.heartbeatTimer);
  server.heartbeatTimer = undefined;
}

function answerStream(server: CallServer, call: ActiveCall, generator: unknown): void {
  const outcome = {
    onError: (thrown: unknown) => toServiceError(server, call, thrown),
    check: (value: unknown, kind: 'chunk' | 'result') => checkContract(server.context, call, { value, kind }),
  };
  writeStream(server.context, call, generator as AsyncGenerator<unknown, unknown, void>, outcome).then(
    (error) => endCall(server, call, error),
    (error: unknown) => failCall(server, call, error),
  );
}

function sendResult(server: CallServer, call: ActiveCall, value: unknown): void {
  if (call.stopReason !== undefined) return endCall(server, call, call.stopReason);
  const { transport } = server.context;
  try {
    checkContract(server.context, call, { value, kind: 'result' });
    const data = encodeJson(value);
    if (data.length > INLINE_BYTES) checkLargeAllowed(call.method, data.length);
    if (call.method.callable.sealed?.result.length)
      return void sendSealedResult(server, call, data).catch((error: unknown) => failCall(server, call, error));
    if (exceedsInlineLimit(server.context, data))
      return void sendLargeResult(server, call, data).catch((error: unknown) => failCall(server, call, error));
    if (data.length > transport.maxPayload)
      throw payloadTooLargeError(`The result of ${call.method.callable.name}`, data.length, transport.maxPayload);
    transport.publish({ subject: call.reply, data });
  } catch (error) {
    return failCall(server, call, error);
  }
  endCall(server, call, undefined);
}

async function sendSealedResult(server: CallServer, call: ActiveCall, data: Uint8Array): Promise<void> {
  const sealed = await sealResult(call, data);
  if (call.stopReason === undefined) server.context.transport.publish({ subject: call.reply, data: sealed });
  endCall(server, call, call.stopReason);
}

/** Only declared results may use the payload store. A secret is never written to disk because of its size. */
function checkLargeAllowed({ callable }: ServedMethod, bytes: number): void {
  if (!callable.large.result) throw payloadTooLargeError(`The result of ${callable.name}`, bytes, INLINE_BYTES);
}

/** Stores a large result and publishes its reference, unless the caller has left. */
async function sendLargeResult(server: CallServer, call: ActiveCall, data: Uint8Array): Promise<void> {
  const { transport, large } = server.context;
  const { tenant } = call.principal;
  if (!call.tracked) trackCall(server, call);
  const blob = await storeResult(large as LargePayloads, tenant, { data, signal: getSignal(call) });
  if (call.stopReason === undefined)
    transport.publish({ subject: call.reply, data: EMPTY, headers: formatPayloadHeader(blob, data.length) });
  else large?.forget(tenant, blob);
  endCall(server, call, call.stopReason);
}

function failCall(server: CallServer, call: ActiveCall, thrown: unknown): void {
  const error = toServiceError(server, call, thrown);
  if (call.stopReason === undefined) sendError(server.context, call.reply, error);
  endCall(server, call, error);
}

function sendError({ transport }: BusContext, reply: string, error: ServiceError): void {
  const data = encodeError(error);
  const bare = () => encodeError(new ServiceError(error.code, error.message.slice(0, 1_000)));
  transport.publish({ subject: reply, data: data.length <= MAX_ERROR_BYTES ? data : bare(), headers: errorHeaders(error) });
}

/** Passes a ServiceError on. Other errors become INTERNAL; their details are logged only. */
function toServiceError({ rejectionLog }: CallServer, call: ActiveCall, thrown: unknown): ServiceError {
  // An error after a stop is a consequence of the stop and is not logged.
  if (call.stopReason !== undefined) return thrown instanceof ServiceError ? thrown : call.stopReason;
  const error = thrown instanceof ServiceError ? thrown : internalError(thrown);
  logFailure(rejectionLog, { call, error, thrown });
  return error;
}

/** Fails results that violate the contract. For tests and development. */
function checkContract(
  { checkResults }: BusContext,
  call: ActiveCall,
  { value, kind }: { value: unknown; kind: 'chunk' | 'result' },
): void {
  if (!checkResults) return;
  throwEmitBreach(call);
  const { name, spec } = call.method.callable;
  const parsed = spec[kind]?.safeParse(decodeJson(encodeJson(value)), { reportInput: true });
  if (parsed?.success !== false) return;
  const issues = describeIssues(parsed.error);
  const text = issues.map((issue) => issue.message).join('; ');
  throw new ServiceError('INTERNAL', `The ${kind} of ${name} breaks its contract: ${text}`, { details: { issues } });
}

function endCall(server: CallServer, call: ActiveCall, error: ServiceError | undefined): void {
  const { stats } = call.method;
  const ms = performance.now() - call.startedAt;
  call.ended = true;
  clearTimeout(call.timer);
  call.span?.end(error);
  stats.requests++;
  stats.processingMs += ms;
  getDurationHistogram(call.method, error?.code ?? 'OK').record(ms / 1_000);
  if (error !== undefined) {
    stats.errors++;
    stats.lastError = `${error.code}: ${error.message}`;
  }
  if (!call.tracked) return;
  server.running.delete(call.reply);
  if (server.running.size === 0) server.onIdle?.();
}

function getDurationHistogram({ callable, durations }: ServedMethod, code: string): Histogram {
  let known = durations.get(code);
  if (known === undefined) {
    known = histogram('switchyard.method.duration', { service: callable.service, method: callable.name, code });
    durations.set(code, known);
  }
  return known;
}

/** Stops the call that a caller cancelled. */
export function cancelCall({ running }: CallServer, reply: string): void {
  const call = running.get(reply);
  if (call !== undefined) stopCall(call, cancelledError(call.method.callable));
}

/** Resolves when no call is running. After `graceMs` it stops the remaining calls and notifies their callers. */
export async function drainCalls(server: CallServer, graceMs: number): Promise<void> {
  server.rejectionLog[Symbol.dispose]();
  if (server.running.size === 0) return stopHeartbeats(server);
  const done = Promise.withResolvers<void>();
  server.onIdle = done.resolve;
  const grace = setTimeout(done.resolve, graceMs);
  await done.promise;
  clearTimeout(grace);
  stopHeartbeats(server);
  for (const call of server.running.values()) {
    const { callable } = call.method;
    const reason = markOutcomeUnknown(serverShutdownError(callable), { callable, params: call.params });
    if (call.stopReason === undefined) sendError(server.context, call.reply, reason);
    stopCall(call, reason);
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function parseJson(data: Uint8Array): unknown {
  try {
    return decodeJson(data);
  } catch {
    throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: expected JSON');
  }
}

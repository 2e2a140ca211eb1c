import { INLINE_BYTES, ServiceError, describeIssues, parseParams } from '@switchyard/contracts';
import { histogram, startSpan, tracing, type Flood, type Histogram } from '@switchyard/telemetry';
import { attributed, checkBreach } from '../client/emit-check.ts';
import { EMPTY, decodeJson, encodeJson } from '../wire/encoding.ts';
import { CallContext } from './call-context.ts';
import { ALIVE_HEADERS, cancelled, encodeError, errorHeaders, internal, shuttingDown, tooLarge } from '../wire/errors.ts';
import { PRINCIPAL, TRACEPARENT } from '../wire/headers.ts';
import { collectLarge, openLarge, putAnswer, refLines, refOf, type LargeAnswer, type LargePayloads } from '../payloads/large-payloads.ts';
import { logFailure, type FailedCall } from './failed-call-log.ts';
import { mayHaveRun } from '../client/retry-safety.ts';
import { decodePrincipal } from '../wire/principal-header.ts';
import { isLarge } from '../client/request.ts';
import { openParams, sealResult } from './sealed-call.ts';
import { signalOf, stop, type Method, type Running } from './active-call.ts';
import type { Message } from '../wire/transport.ts';
import type { Wire } from '../client/bus-context.ts';
import { writeStream } from './stream-writer.ts';

/** An error must always fit; one that carries too much loses its details. */
const MAX_ERROR_BYTES = 64 * 1024;

/** The calls that a service is answering, by their reply subject. Calls answered in one turn of the event loop are never here. */
export interface Desk {
  readonly wire: Wire;
  readonly running: Map<string, Running>;
  /** What was refused, on its way to the log. */
  readonly refusals: Flood<FailedCall>;
  /** Sends signs of life, while there is anything to answer. */
  alive: NodeJS.Timeout | undefined;
  whenEmpty: (() => void) | undefined;
}

/** Answers one call. Nothing a caller sends and nothing a handler does makes it throw. */
export function answer(desk: Desk, method: Method, message: Message): void {
  const call = begin(desk, method, message);
  if (call === undefined) return;
  const ref = refOf(message);
  if (ref === undefined) begun(desk, call);
  else
    fetchParams(desk, call, openLarge({ large: desk.wire.large, tenant: call.principal.tenant }, ref)).catch((error: unknown) =>
      fail(desk, call, error),
    );
}

/** Params that did not ride the bus are fetched before anything looks at them: no more than a message could have been. */
async function fetchParams(desk: Desk, call: Running, large: LargeAnswer): Promise<void> {
  goOn(desk, call);
  call.params = await collectLarge(`The request to ${call.method.callable.name}`, large, desk.wire.transport.maxPayload, signalOf(call));
  if (call.stopped === undefined) begun(desk, call);
  else end(desk, call, call.stopped);
}

function begun(desk: Desk, call: Running): void {
  if (desk.wire.checkResults) attributed(call, () => handle(desk, call));
  else handle(desk, call);
}

function handle(desk: Desk, call: Running): void {
  try {
    const body = parseJson(call.params);
    if (call.method.callable.sealed === undefined) run(desk, call, body);
    else runSealed(desk, call, body).catch((error: unknown) => fail(desk, call, error));
  } catch (error) {
    fail(desk, call, error);
  }
}

async function runSealed(desk: Desk, call: Running, body: unknown): Promise<void> {
  goOn(desk, call);
  const opened = await openParams(call, body);
  if (call.stopped === undefined) run(desk, call, opened);
  else end(desk, call, call.stopped);
}

function run(desk: Desk, call: Running, body: unknown): void {
  const { method } = call;
  try {
    const params = parseParams(method.callable.spec.params, body);
    const result = method.handler(params, new CallContext(desk.wire, call));
    if (!method.callable.streams && !isPromise(result)) return succeed(desk, call, result);
    goOn(desk, call);
    if (isPromise(result))
      result.then(
        (value) => succeed(desk, call, value),
        (error: unknown) => fail(desk, call, error),
      );
    else answerStream(desk, call, result);
  } catch (error) {
    fail(desk, call, error);
  }
}

/** Default deny: without a principal nothing runs. */
function begin(desk: Desk, method: Method, message: Message): Running | undefined {
  const { reply } = message;
  if (reply === undefined) return undefined;
  const principal = decodePrincipal(message.header(PRINCIPAL) ?? '');
  if (principal === undefined) {
    sendError(desk.wire, reply, new ServiceError('UNAUTHENTICATED', 'The call does not say who makes it.'));
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
    stopped: undefined,
    send: undefined,
    goesOn: false,
    ended: false,
  };
}

/** Only a call that outlasts this turn of the event loop is kept: no other can be cancelled, or has to be waited for. */
function goOn(desk: Desk, call: Running): void {
  desk.running.set(call.reply, call);
  call.goesOn = true;
  desk.alive ??= setInterval(sayAlive, desk.wire.calls.aliveMs, desk).unref();
}

/** Of what is answered soon nothing is said, and a stream says it itself. Ends with the first look that finds nothing to answer. */
function sayAlive(desk: Desk): void {
  const { wire, running } = desk;
  if (running.size === 0) return stopAlive(desk);
  const before = performance.now() - wire.calls.aliveMs;
  for (const { reply, method, stopped, startedAt } of running.values()) {
    if (stopped !== undefined || method.callable.streams || startedAt > before) continue;
    wire.transport.publish({ subject: reply, data: EMPTY, headers: ALIVE_HEADERS });
  }
}

function stopAlive(desk: Desk): void {
  clearInterval(desk.alive);
  desk.alive = undefined;
}

function answerStream(desk: Desk, call: Running, generator: unknown): void {
  const outcome = {
    onError: (thrown: unknown) => toServiceError(desk, call, thrown),
    check: (value: unknown, kind: 'chunk' | 'result') => check(desk.wire, call, { value, kind }),
  };
  writeStream(desk.wire, call, generator as AsyncGenerator<unknown, unknown, void>, outcome).then(
    (error) => end(desk, call, error),
    (error: unknown) => fail(desk, call, error),
  );
}

function succeed(desk: Desk, call: Running, value: unknown): void {
  if (call.stopped !== undefined) return end(desk, call, call.stopped);
  const { transport } = desk.wire;
  try {
    check(desk.wire, call, { value, kind: 'result' });
    const data = encodeJson(value);
    if (data.length > INLINE_BYTES) checkLarge(call.method, data.length);
    if (call.method.callable.sealed?.result.length)
      return void succeedSealed(desk, call, data).catch((error: unknown) => fail(desk, call, error));
    if (isLarge(desk.wire, data)) return void succeedLarge(desk, call, data).catch((error: unknown) => fail(desk, call, error));
    if (data.length > transport.maxPayload) throw tooLarge(`The answer of ${call.method.callable.name}`, data.length, transport.maxPayload);
    transport.publish({ subject: call.reply, data });
  } catch (error) {
    return fail(desk, call, error);
  }
  end(desk, call, undefined);
}

async function succeedSealed(desk: Desk, call: Running, data: Uint8Array): Promise<void> {
  const sealed = await sealResult(call, data);
  if (call.stopped === undefined) desk.wire.transport.publish({ subject: call.reply, data: sealed });
  end(desk, call, call.stopped);
}

/** Only what a contract names is ever put aside: a secret, say, is not written to a disk because it is long. */
function checkLarge({ callable }: Method, bytes: number): void {
  if (!callable.large.result) throw tooLarge(`The answer of ${callable.name}`, bytes, INLINE_BYTES);
}

/** The answer goes beside the bus, and a message says where it is. Nobody is told of one that nobody waits for. */
async function succeedLarge(desk: Desk, call: Running, data: Uint8Array): Promise<void> {
  const { transport, large } = desk.wire;
  const { tenant } = call.principal;
  if (!call.goesOn) goOn(desk, call);
  const blob = await putAnswer(large as LargePayloads, tenant, { data, signal: signalOf(call) });
  if (call.stopped === undefined) transport.publish({ subject: call.reply, data: EMPTY, headers: refLines(blob, data.length) });
  else large?.forget(tenant, blob);
  end(desk, call, call.stopped);
}

function fail(desk: Desk, call: Running, thrown: unknown): void {
  const error = toServiceError(desk, call, thrown);
  if (call.stopped === undefined) sendError(desk.wire, call.reply, error);
  end(desk, call, error);
}

function sendError({ transport }: Wire, reply: string, error: ServiceError): void {
  const data = encodeError(error);
  const bare = () => encodeError(new ServiceError(error.code, error.message.slice(0, 1_000)));
  transport.publish({ subject: reply, data: data.length <= MAX_ERROR_BYTES ? data : bare(), headers: errorHeaders(error) });
}

/** Ours crosses as it is; anything else as nothing but INTERNAL. What stood behind it stays here, in the log. */
function toServiceError({ refusals }: Desk, call: Running, thrown: unknown): ServiceError {
  // What a handler throws because it was told to stop is not news.
  if (call.stopped !== undefined) return thrown instanceof ServiceError ? thrown : call.stopped;
  const error = thrown instanceof ServiceError ? thrown : internal(thrown);
  logFailure(refusals, { call, error, thrown });
  return error;
}

/** For tests and development: an answer that breaks its contract fails, and says where. */
function check({ checkResults }: Wire, call: Running, { value, kind }: { value: unknown; kind: 'chunk' | 'result' }): void {
  if (!checkResults) return;
  checkBreach(call);
  const { name, spec } = call.method.callable;
  const parsed = spec[kind]?.safeParse(decodeJson(encodeJson(value)), { reportInput: true });
  if (parsed?.success !== false) return;
  const issues = describeIssues(parsed.error);
  const text = issues.map((issue) => issue.message).join('; ');
  throw new ServiceError('INTERNAL', `The ${kind} of ${name} breaks its contract: ${text}`, { details: { issues } });
}

function end(desk: Desk, call: Running, error: ServiceError | undefined): void {
  const { stats } = call.method;
  const ms = performance.now() - call.startedAt;
  call.ended = true;
  clearTimeout(call.timer);
  call.span?.end(error);
  stats.requests++;
  stats.processingMs += ms;
  durationsOf(call.method, error?.code ?? 'OK').record(ms / 1_000);
  if (error !== undefined) {
    stats.errors++;
    stats.lastError = `${error.code}: ${error.message}`;
  }
  if (!call.goesOn) return;
  desk.running.delete(call.reply);
  if (desk.running.size === 0) desk.whenEmpty?.();
}

function durationsOf({ callable, durations }: Method, code: string): Histogram {
  let known = durations.get(code);
  if (known === undefined) {
    known = histogram('switchyard.method.duration', { service: callable.service, method: callable.name, code });
    durations.set(code, known);
  }
  return known;
}

/** The caller left; its handler learns it from its signal. */
export function cancel({ running }: Desk, reply: string): void {
  const call = running.get(reply);
  if (call !== undefined) stop(call, cancelled(call.method.callable));
}

/** Resolves when nothing runs any more; what still runs after `graceMs` is stopped, and its callers are told. */
export async function finish(desk: Desk, graceMs: number): Promise<void> {
  desk.refusals[Symbol.dispose]();
  if (desk.running.size === 0) return stopAlive(desk);
  const done = Promise.withResolvers<void>();
  desk.whenEmpty = done.resolve;
  const grace = setTimeout(done.resolve, graceMs);
  await done.promise;
  clearTimeout(grace);
  stopAlive(desk);
  for (const call of desk.running.values()) {
    const { callable } = call.method;
    const reason = mayHaveRun(shuttingDown(callable), { callable, params: call.params });
    if (call.stopped === undefined) sendError(desk.wire, call.reply, reason);
    stop(call, reason);
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

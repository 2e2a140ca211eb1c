import type { Bus, CallHead, LargeAnswer, Reply } from '@switchyard/bus';
import { invalidParams, publicMethods, ServiceError, type Callable } from '@switchyard/contracts';
import { systemClock, type Settings } from '@switchyard/service-kit';
import { startSpan, tracing } from '@switchyard/telemetry';
import { describeError, type FailureLog } from '../request/failure-log.ts';
import {
  encodeBatch,
  encodeError,
  encodeFault,
  encodeLocalResult,
  encodeResult,
  createResultEnvelope,
  type Fault,
} from './json-rpc-responses.ts';
import type { Payload } from '../http/payload.ts';
import { ATTACH_METHOD, attachTurn } from './turn-attachment.ts';
import { runBatch } from './batch.ts';
import { createCallCounter, countUnknownMethod, type CountCall } from './call-metrics.ts';
import type { LocalMethod } from './local-methods.ts';
import { createOverloadCache } from './overload-cache.ts';
import { NULL_ID, readEnvelope, type Envelope, type Item, type RpcRequest } from './envelope.ts';
import { BATCH_WITH_KEY, addIdempotencyKey } from './idempotency-header.ts';
import type { Cancel, OnResponse, OnStreamedResult, CallOrigin } from './call-context.ts';
import { explainAbsence } from './absent-services.ts';
import { createLargeResultCollector, openStreamedResult } from './large-results.ts';
import type { Caller } from '../request/caller.ts';

/** Runs JSON-RPC messages of every transport. */
export interface Dispatcher {
  /** Parses a message. An array is a batch; rate limits count each of its calls. */
  parse(bytes: Buffer): Envelope;
  /**
   * Runs a message and returns a function that cancels it. With `onStreamedResult` a large result of a single request is streamed. Without it the
   * result is buffered, up to the maximum payload of the bus.
   */
  run(envelope: Envelope, origin: CallOrigin, onResponse: OnResponse, onStreamedResult?: OnStreamedResult): Cancel;
  /** Returns the same fault for each request of a message, without running any. */
  refuse(envelope: Envelope, fault: Fault, origin: CallOrigin): Payload | undefined;
}

export interface DispatcherOptions {
  bus: Bus;
  settings: Settings<'gateway'>;
  failures: FailureLog;
  /** Methods answered by the gateway. */
  local: ReadonlyMap<string, LocalMethod>;
}

const METHOD_NOT_FOUND: Fault = { number: -32601, code: 'UNIMPLEMENTED', message: 'Method not found' };

function noop(): void {
  // Nothing to cancel or to notify.
}

export function createDispatcher({ bus, settings, failures, local }: DispatcherOptions): Dispatcher {
  const routes = createRoutes(local);
  const collect = createLargeResultCollector(bus.maxPayload);
  const overloads = createOverloadCache(systemClock);
  const forward: Bus['forward'] = (callable, params, head, onReply) =>
    tracing() ? forwardTraced(bus, callable, params, head, onReply) : bus.forward(callable, params, head, onReply);

  function run(request: RpcRequest, origin: CallOrigin, onResponse: OnResponse, onStreamedResult?: OnStreamedResult): Cancel {
    const { id, params } = request;
    const route = routes.get(request.method);
    const fault = route ? checkAccess(route, origin.caller) : METHOD_NOT_FOUND;
    if (fault || !route) {
      (route?.count ?? countUnknownMethod)((fault ?? METHOD_NOT_FOUND).code);
      onResponse(id === undefined ? undefined : refuse(fault ?? METHOD_NOT_FOUND, origin, { id, method: request.method }));
    } else if (typeof params === 'string') {
      route.count('INVALID_ARGUMENT');
      onResponse(fail(createParamsTypeError(params), origin, request));
    } else {
      return runRoute(route, params, { origin, request, onResponse, onStreamedResult });
    }
    return noop;
  }

  function runRoute(route: Route, params: Uint8Array, { origin, request, onResponse, onStreamedResult }: RunOptions): Cancel {
    const { id, method } = request;
    const { caller, idempotencyKey: key } = origin;
    const keyedParams =
      key === undefined ? (overloads.findRejection(method, caller, params) ?? params) : addKey(route, params, { method, key });
    if (keyedParams instanceof ServiceError) {
      route.count(keyedParams.code);
      onResponse(fail(keyedParams, origin, request));
    } else if (route.callable) {
      let download: AbortController | undefined;
      const { service } = route.callable;
      const onReply = ({ data, large, error }: Reply): void => {
        route.count(error?.code ?? 'OK');
        if (error?.details.fullFor !== undefined) overloads.recordRejection(method, caller, error);
        if (error) onResponse(fail(explainAbsence(error, service, settings.current.gateway.installedServices), origin, request));
        else if (data) onResponse(id === undefined ? undefined : encodeResult(data, id));
        else fetchLarge({ request, origin, large, signal: (download = new AbortController()).signal }, onResponse, onStreamedResult);
      };
      const notifyFrame = method === ATTACH_METHOD && id !== undefined ? origin.notify : undefined;
      const cancel = notifyFrame
        ? attachTurn(bus, keyedParams, { origin, notify: notifyFrame, onReply })
        : forward(route.callable, keyedParams, createCallHead(route.callable, origin), onReply);
      return () => {
        cancel();
        download?.abort();
      };
    } else {
      return runLocal(route, keyedParams, { origin, request, onResponse });
    }
    return noop;
  }

  /** Streams a large result if the transport supports it, and buffers it otherwise. */
  function fetchLarge(
    { request, origin, large, signal }: LargeResultFetch,
    onResponse: OnResponse,
    onStreamedResult?: OnStreamedResult,
  ): void {
    const { id, method } = request;
    const onFailure = (error: unknown): void => {
      if (!signal.aborted) onResponse(fail(toServiceError(error), origin, request));
    };
    if (id === undefined) {
      large.discard();
      onResponse(undefined);
    } else if (onStreamedResult) {
      openStreamedResult(large, createResultEnvelope(id), signal).then(
        (pieces) => (signal.aborted ? pieces.cancel() : onStreamedResult(pieces)),
        onFailure,
      );
    } else {
      collect(`The result of ${method}`, large, signal).then((data) => signal.aborted || onResponse(encodeResult(data, id)), onFailure);
    }
  }

  function runLocal(
    { local, count }: LocalRoute,
    params: Uint8Array,
    { origin, request, onResponse }: Omit<RunOptions, 'onStreamedResult'>,
  ): Cancel {
    const onResult = (result: string): void => {
      count('OK');
      onResponse(request.id === undefined ? undefined : encodeLocalResult(result, request.id));
    };
    const onFailure = (error: unknown): void => {
      const serviceError = toServiceError(error);
      count(serviceError.code);
      onResponse(fail(serviceError, origin, request));
    };
    let result: string | Promise<string>;
    try {
      result = local(params);
    } catch (error) {
      onFailure(error);
      return noop;
    }
    if (typeof result === 'string') {
      onResult(result);
      return noop;
    }
    let cancelled = false;
    result.then(
      (text) => cancelled || onResult(text),
      (error: unknown) => cancelled || onFailure(error),
    );
    return () => void (cancelled = true);
  }

  /** Logs a failed call and returns its error response. A notification has none. */
  function fail(error: ServiceError, origin: CallOrigin, { id, method }: RpcRequest): Payload | undefined {
    if (id === undefined) return undefined;
    const { code, message } = error;
    failures.log({ ...origin, method, code, message, ...describeError(error) });
    return encodeError(error, origin.requestId, id);
  }

  function refuse(fault: Fault, origin: CallOrigin, { id, method }: { id: string; method?: string }): Payload {
    const { code, reason, message } = fault;
    if (method === undefined) countUnknownMethod(code);
    failures.log({ ...origin, method, code, reason, message });
    return encodeFault(fault, origin.requestId, id);
  }

  function runSingle(item: Item, origin: CallOrigin, onResponse: OnResponse, onStreamedResult?: OnStreamedResult): Cancel {
    if (item.fault) {
      onResponse(refuse(item.fault, origin, item));
      return noop;
    }
    if (item.id !== undefined) return run(item, origin, onResponse, onStreamedResult);
    run(item, origin, noop);
    onResponse(undefined); // a notification has no response and continues after the client disconnects
    return noop;
  }

  return {
    parse: (bytes) => readEnvelope(bytes, settings.current.gateway.maxBatchSize),
    run(envelope, origin, onResponse, onStreamedResult) {
      if (Array.isArray(envelope) && origin.idempotencyKey !== undefined) {
        onResponse(refuse(BATCH_WITH_KEY, origin, { id: NULL_ID }));
        return noop;
      }
      return Array.isArray(envelope)
        ? runBatch(envelope, { origin, run, refuse, onResponse })
        : runSingle(envelope, origin, onResponse, onStreamedResult);
    },
    refuse(envelope, fault, origin) {
      const items = Array.isArray(envelope) ? envelope : [envelope];
      const answers = items.flatMap(({ fault: ownFault = fault, id }) => (id === undefined ? [] : [refuse(ownFault, origin, { id })]));
      return Array.isArray(envelope) && answers.length > 0 ? encodeBatch(answers) : answers[0];
    },
  };
}

/** A large result to be fetched for a request. */
interface LargeResultFetch {
  request: RpcRequest;
  origin: CallOrigin;
  large: LargeAnswer;
  signal: AbortSignal;
}

function toServiceError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError('INTERNAL', 'Internal error', { cause: error });
}

/** Forwards a call within a span, which the spans of the service continue. */
function forwardTraced(bus: Bus, ...[callable, params, head, onReply]: Parameters<Bus['forward']>): Cancel {
  const { name, service } = callable;
  const attributes = { 'rpc.system': 'jsonrpc', 'rpc.service': service, 'rpc.method': name, 'switchyard.request_id': head.requestId };
  const span = startSpan(`edge ${name}`, attributes, head.traceparent);
  const traced = span.traceparent === undefined ? head : { ...head, traceparent: span.traceparent };
  const cancel = bus.forward(callable, params, traced, (reply) => {
    span.end(reply.error);
    onReply(reply);
  });
  return () => {
    cancel();
    span.end(new ServiceError('CANCELLED', 'The client disconnected.'));
  };
}

/** A method of a service or of the gateway. */
type Route = ServiceRoute | LocalRoute;
type ServiceRoute = Access & { callable: Callable; local?: undefined };
type LocalRoute = Access & { callable?: undefined; local: LocalMethod };

interface Access {
  denied: Fault;
  scope: Callable['scope'];
  count: CountCall;
}

function createRoutes(local: ReadonlyMap<string, LocalMethod>): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const [name, callable] of publicMethods) routes.set(name, { ...createAccess(name, callable.scope), callable });
  for (const [name, method] of local) routes.set(name, { ...createAccess(name, publicMethods.get(name)?.scope), local: method });
  return routes;
}

function createAccess(name: string, scope: Callable['scope']): Access {
  const message = `Insufficient scope: requires '${scope}'`;
  return { scope, count: createCallCounter(name), denied: { number: -32603, code: 'PERMISSION_DENIED', reason: 'FORBIDDEN', message } };
}

function checkAccess({ scope, denied }: Route, caller: Caller): Fault | undefined {
  return scope === undefined || caller.may[scope] ? undefined : denied;
}

/** A request and the callbacks for its response. */
interface RunOptions {
  origin: CallOrigin;
  request: RpcRequest;
  onResponse: OnResponse;
  onStreamedResult: OnStreamedResult | undefined;
}

function addKey({ callable }: Route, params: Uint8Array, { method, key }: { method: string; key: string }): Uint8Array | ServiceError {
  try {
    return addIdempotencyKey({ method, callable }, params, key);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

function createParamsTypeError(received: string): ServiceError {
  const message = `params: expected object, got ${received}`;
  return invalidParams([{ path: 'params', expected: 'object', received, message }]);
}

function createCallHead(callable: Callable, { caller, requestId, traceparent }: CallOrigin): CallHead {
  const head: CallHead = { principal: caller.encodedPrincipal, requestId, timeoutMs: callable.deadlineMs };
  if (traceparent !== undefined) head.traceparent = traceparent;
  return head;
}

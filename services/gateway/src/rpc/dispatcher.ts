import type { Bus, CallHead, LargeAnswer, Reply } from '@switchyard/bus';
import { invalidParams, publicMethods, ServiceError, type Callable } from '@switchyard/contracts';
import { systemClock, type Settings } from '@switchyard/service-kit';
import { startSpan, tracing } from '@switchyard/telemetry';
import { describeError, type FailureLog } from '../request/failure-log.ts';
import { batchAnswer, errorAnswer, faultAnswer, localAnswer, resultAnswer, resultEnvelope, type Fault } from './json-rpc-responses.ts';
import type { Answer } from '../http/payload.ts';
import { ATTACH, attach } from './turn-attachment.ts';
import { runBatch } from './batch.ts';
import { countCallsOf, countOther, type CountCall } from './call-metrics.ts';
import type { EdgeMethod } from './local-methods.ts';
import { createFull } from './overload-cache.ts';
import { NULL_ID, readEnvelope, type Envelope, type Item, type Request } from './envelope.ts';
import { KEY_OF_A_BATCH, withKey } from './idempotency-header.ts';
import type { Cancel, OnAnswer, OnPieces, Origin } from './call-context.ts';
import { createCollect, openPieces } from './large-results.ts';
import type { Caller } from '../request/caller.ts';

/** Runs JSON-RPC messages, whichever transport brought them. */
export interface Dispatcher {
  /** What a message asks for. An array is a batch, and counts as the calls in it wherever something is limited. */
  read(bytes: Buffer): Envelope;
  /**
   * Returns a function that stops waiting for the answer; nothing is answered after it. Who says `onPieces` gets the answer of a
   * single request in pieces where it is large; everybody else gets it whole, up to what a message of the bus may be.
   */
  run(envelope: Envelope, from: Origin, onAnswer: OnAnswer, onPieces?: OnPieces): Cancel;
  /** Answers each request of a message with the same fault, and runs none. */
  refuse(envelope: Envelope, fault: Fault, from: Origin): Answer | undefined;
}

export interface DispatcherOptions {
  bus: Bus;
  settings: Settings<'gateway'>;
  failures: FailureLog;
  /** Methods that need no service. */
  local: ReadonlyMap<string, EdgeMethod>;
}

const METHOD_NOT_FOUND: Fault = { number: -32601, code: 'UNIMPLEMENTED', message: 'Method not found' };

/** There is nothing to cancel, or nobody to tell. */
function nothing(): void {
  // Says so by doing nothing.
}

export function createDispatcher({ bus, settings, failures, local }: DispatcherOptions): Dispatcher {
  const routes = routesOf(local);
  const collect = createCollect(bus.maxPayload);
  const full = createFull(systemClock);
  const forward: Bus['forward'] = (callable, params, head, onReply) =>
    tracing() ? forwardTraced(bus, callable, params, head, onReply) : bus.forward(callable, params, head, onReply);

  function run(request: Request, from: Origin, onAnswer: OnAnswer, onPieces?: OnPieces): Cancel {
    const { id, params } = request;
    const route = routes.get(request.method);
    const fault = route ? faultOf(route, from.caller) : METHOD_NOT_FOUND;
    if (fault || !route) {
      (route?.count ?? countOther)((fault ?? METHOD_NOT_FOUND).code);
      onAnswer(id === undefined ? undefined : refuse(fault ?? METHOD_NOT_FOUND, from, { id, method: request.method }));
    } else if (typeof params === 'string') {
      route.count('INVALID_ARGUMENT');
      onAnswer(fail(notAnObject(params), from, request));
    } else {
      return runRoute(route, params, { from, request, onAnswer, onPieces });
    }
    return nothing;
  }

  function runRoute(route: Route, params: Uint8Array, { from, request, onAnswer, onPieces }: Running): Cancel {
    const { id, method } = request;
    const { caller, idempotencyKey: key } = from;
    const keyed = key === undefined ? (full.refusal(method, caller, params) ?? params) : keyedParams(route, params, { method, key });
    if (keyed instanceof ServiceError) {
      route.count(keyed.code);
      onAnswer(fail(keyed, from, request));
    } else if (route.callable) {
      let fetching: AbortController | undefined;
      const onReply = ({ data, large, error }: Reply): void => {
        route.count(error?.code ?? 'OK');
        if (error?.details.fullFor !== undefined) full.note(method, caller, error);
        if (error) onAnswer(fail(error, from, request));
        else if (data) onAnswer(id === undefined ? undefined : resultAnswer(data, id));
        else fetchLarge({ request, from, large, signal: (fetching = new AbortController()).signal }, onAnswer, onPieces);
      };
      const follows = method === ATTACH && id !== undefined ? from.notify : undefined;
      const cancel = follows
        ? attach(bus, keyed, { from, notify: follows, onReply })
        : forward(route.callable, keyed, headOf(route.callable, from), onReply);
      return () => {
        cancel();
        fetching?.abort();
      };
    } else {
      return runHere(route, keyed, { from, request, onAnswer });
    }
    return nothing;
  }

  /** What is too large to be held goes on in pieces where it may, and is fetched whole where it may not. */
  function fetchLarge({ request, from, large, signal }: Fetching, onAnswer: OnAnswer, onPieces?: OnPieces): void {
    const { id, method } = request;
    const failed = (error: unknown): void => {
      if (!signal.aborted) onAnswer(fail(known(error), from, request));
    };
    if (id === undefined) {
      large.discard();
      onAnswer(undefined);
    } else if (onPieces) {
      openPieces(large, resultEnvelope(id), signal).then((pieces) => (signal.aborted ? pieces.leave() : onPieces(pieces)), failed);
    } else {
      collect(`The answer of ${method}`, large, signal).then((data) => signal.aborted || onAnswer(resultAnswer(data, id)), failed);
    }
  }

  function runHere({ local, count }: LocalRoute, params: Uint8Array, { from, request, onAnswer }: Omit<Running, 'onPieces'>): Cancel {
    const answered = (result: string): void => {
      count('OK');
      onAnswer(request.id === undefined ? undefined : localAnswer(result, request.id));
    };
    const failed = (error: unknown): void => {
      const told = known(error);
      count(told.code);
      onAnswer(fail(told, from, request));
    };
    let result: string | Promise<string>;
    try {
      result = local(params);
    } catch (error) {
      failed(error);
      return nothing;
    }
    if (typeof result === 'string') {
      answered(result);
      return nothing;
    }
    let left = false;
    result.then(
      (text) => left || answered(text),
      (error: unknown) => left || failed(error),
    );
    return () => void (left = true);
  }

  /** Nobody is told how a notification went. */
  function fail(error: ServiceError, from: Origin, { id, method }: Request): Answer | undefined {
    if (id === undefined) return undefined;
    const { code, message } = error;
    failures.note({ ...from, method, code, message, ...describeError(error) });
    return errorAnswer(error, from.requestId, id);
  }

  function refuse(fault: Fault, from: Origin, { id, method }: { id: string; method?: string }): Answer {
    const { code, reason, message } = fault;
    if (method === undefined) countOther(code);
    failures.note({ ...from, method, code, reason, message });
    return faultAnswer(fault, from.requestId, id);
  }

  function single(item: Item, from: Origin, onAnswer: OnAnswer, onPieces?: OnPieces): Cancel {
    if (item.fault) {
      onAnswer(refuse(item.fault, from, item));
      return nothing;
    }
    if (item.id !== undefined) return run(item, from, onAnswer, onPieces);
    run(item, from, nothing);
    onAnswer(undefined); // nobody waits for a notification, and it goes on when its sender leaves
    return nothing;
  }

  return {
    read: (bytes) => readEnvelope(bytes, settings.current.gateway.maxBatchSize),
    run(envelope, from, onAnswer, onPieces) {
      if (Array.isArray(envelope) && from.idempotencyKey !== undefined) {
        onAnswer(refuse(KEY_OF_A_BATCH, from, { id: NULL_ID }));
        return nothing;
      }
      return Array.isArray(envelope) ? runBatch(envelope, { from, run, refuse, onAnswer }) : single(envelope, from, onAnswer, onPieces);
    },
    refuse(envelope, fault, from) {
      const items = Array.isArray(envelope) ? envelope : [envelope];
      const answers = items.flatMap(({ fault: own = fault, id }) => (id === undefined ? [] : [refuse(own, from, { id })]));
      return Array.isArray(envelope) && answers.length > 0 ? batchAnswer(answers) : answers[0];
    },
  };
}

/** A large answer on its way to whoever asked. */
interface Fetching {
  request: Request;
  from: Origin;
  large: LargeAnswer;
  signal: AbortSignal;
}

function known(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError('INTERNAL', 'Internal error', { cause: error });
}

/** The call as a span of the caller's trace, or of a new one, which the service's own spans continue. */
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
    span.end(new ServiceError('CANCELLED', 'The client left.'));
  };
}

/** All there is to know of a method before it is called: a service answers it, or the edge. */
type Route = ServiceRoute | LocalRoute;
type ServiceRoute = Access & { callable: Callable; local?: undefined };
type LocalRoute = Access & { callable?: undefined; local: EdgeMethod };

interface Access {
  denied: Fault;
  scope: Callable['scope'];
  count: CountCall;
}

function routesOf(local: ReadonlyMap<string, EdgeMethod>): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const [name, callable] of publicMethods) routes.set(name, { ...access(name, callable.scope), callable });
  for (const [name, method] of local) routes.set(name, { ...access(name, publicMethods.get(name)?.scope), local: method });
  return routes;
}

function access(name: string, scope: Callable['scope']): Access {
  const message = `Insufficient scope: requires '${scope}'`;
  return { scope, count: countCallsOf(name), denied: { number: -32603, code: 'PERMISSION_DENIED', reason: 'FORBIDDEN', message } };
}

function faultOf({ scope, denied }: Route, caller: Caller): Fault | undefined {
  return scope === undefined || caller.may[scope] ? undefined : denied;
}

/** A request that may be run, and whom its answer is for. */
interface Running {
  from: Origin;
  request: Request;
  onAnswer: OnAnswer;
  onPieces: OnPieces | undefined;
}

function keyedParams({ callable }: Route, params: Uint8Array, { method, key }: { method: string; key: string }): Uint8Array | ServiceError {
  try {
    return withKey({ method, callable }, params, key);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

function notAnObject(received: string): ServiceError {
  const message = `params: expected object, got ${received}`;
  return invalidParams([{ path: 'params', expected: 'object', received, message }]);
}

function headOf(callable: Callable, { caller, requestId, traceparent }: Origin): CallHead {
  const head: CallHead = { principal: caller.encodedPrincipal, requestId, timeoutMs: callable.deadlineMs };
  if (traceparent !== undefined) head.traceparent = traceparent;
  return head;
}

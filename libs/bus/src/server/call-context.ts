import type { StreamName } from '@switchyard/contracts';
import { bindTrace, type Logger } from '@switchyard/telemetry';
import type { Ctx, StreamCtx } from '../client/bus.ts';
import { call, type Caller } from '../client/call.ts';
import { emit } from '../client/events.ts';
import { KEY, REQUEST, TRACEPARENT } from '../wire/headers.ts';
import { stream } from '../client/stream-call.ts';
import { encodePrincipal } from '../wire/principal-header.ts';
import { getDeadline, getSignal, type ActiveCall } from './active-call.ts';
import type { BusContext } from '../client/bus-context.ts';

/**
 * Context of a call for its handler. A class with getters, because one is created per call and unused getters cost nothing. The verbs are
 * getters as well, so that they can be destructured.
 */
export class CallContext implements StreamCtx<StreamName> {
  readonly #context: BusContext;
  readonly #call: ActiveCall;
  #log: Logger | undefined;

  constructor(context: BusContext, call: ActiveCall) {
    this.#context = context;
    this.#call = call;
  }

  get principal() {
    return this.#call.principal;
  }

  get requestId() {
    return this.#call.message.header(REQUEST) ?? '';
  }

  get traceparent() {
    const { span, message } = this.#call;
    return span === undefined ? message.header(TRACEPARENT) : span.traceparent;
  }

  get key() {
    return this.#call.message.header(KEY);
  }

  get deadline() {
    return getDeadline(this.#call);
  }

  get signal() {
    return getSignal(this.#call);
  }

  get log() {
    return (this.#log ??= bindTrace(this.#call.method.log, { requestId: this.requestId, traceparent: this.traceparent }));
  }

  get call(): Ctx['call'] {
    return (name, params, options = {}) => call(this.#context, this.#caller(), name, { params, options });
  }

  get stream(): Ctx['stream'] {
    return (name, params, options = {}) => stream(this.#context, this.#caller(), name, { params, options });
  }

  get emit(): Ctx['emit'] {
    return (name, payload) => emit(this.#context, this.principal, name, payload);
  }

  get send() {
    return (chunk: unknown): void => this.#call.send?.(chunk);
  }

  #caller(): Caller {
    const { requestId, traceparent, deadline, signal } = this;
    return { principal: encodePrincipal(this.principal), requestId, traceparent, deadline, signal };
  }
}

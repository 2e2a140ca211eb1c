import type { StreamName } from '@switchyard/contracts';
import { bindTrace, type Logger } from '@switchyard/telemetry';
import type { Ctx, StreamCtx } from '../client/bus.ts';
import { call, type Caller } from '../client/call.ts';
import { emit } from '../client/events.ts';
import { KEY, REQUEST, TRACEPARENT } from '../wire/headers.ts';
import { stream } from '../client/stream-call.ts';
import { encodePrincipal } from '../wire/principal-header.ts';
import { deadlineOf, signalOf, type Running } from './active-call.ts';
import type { Wire } from '../client/bus-context.ts';

/**
 * What a handler sees of its call. A class because one is made for every call: getters on a prototype cost nothing until they
 * are read. The verbs are getters too, so that they can be taken out of it like the rest.
 */
export class CallContext implements StreamCtx<StreamName> {
  readonly #wire: Wire;
  readonly #running: Running;
  #log: Logger | undefined;

  constructor(wire: Wire, running: Running) {
    this.#wire = wire;
    this.#running = running;
  }

  get principal() {
    return this.#running.principal;
  }

  get requestId() {
    return this.#running.message.header(REQUEST) ?? '';
  }

  get traceparent() {
    const { span, message } = this.#running;
    return span === undefined ? message.header(TRACEPARENT) : span.traceparent;
  }

  get key() {
    return this.#running.message.header(KEY);
  }

  get deadline() {
    return deadlineOf(this.#running);
  }

  get signal() {
    return signalOf(this.#running);
  }

  get log() {
    return (this.#log ??= bindTrace(this.#running.method.log, { requestId: this.requestId, traceparent: this.traceparent }));
  }

  get call(): Ctx['call'] {
    return (name, params, options = {}) => call(this.#wire, this.#caller(), name, { params, options });
  }

  get stream(): Ctx['stream'] {
    return (name, params, options = {}) => stream(this.#wire, this.#caller(), name, { params, options });
  }

  get emit(): Ctx['emit'] {
    return (name, payload) => emit(this.#wire, encodePrincipal(this.principal), name, payload);
  }

  get send() {
    return (chunk: unknown): void => this.#running.send?.(chunk);
  }

  #caller(): Caller {
    const { requestId, traceparent, deadline, signal } = this;
    return { principal: encodePrincipal(this.principal), requestId, traceparent, deadline, signal };
  }
}

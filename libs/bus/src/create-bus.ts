import {
  INLINE_BYTES,
  servicePrincipal,
  subjects,
  type BucketDefinition,
  type LogDefinition,
  type Principal,
  type ServiceName,
} from '@switchyard/contracts';
import { createDecryptionKey, mintId } from '@switchyard/security';
import { observe, type Logger } from '@switchyard/telemetry';
import type { Bus, CallOptions, Served } from './client/bus.ts';
import { EMPTY } from './wire/encoding.ts';
import { call, type Caller } from './client/call.ts';
import { discover, isReplicaConnected } from './client/discovery.ts';
import { emit, eventLog, on, record } from './client/events.ts';
import { callerShutdownError, busUnreachableError, payloadTooLargeError } from './wire/errors.ts';
import type { LargePayloads } from './payloads/large-payloads.ts';
import { createMux } from './wire/reply-mux.ts';
import { encodePrincipal } from './wire/principal-header.ts';
import { streamToSink, stream } from './client/stream-call.ts';
import { sendRequest } from './client/sealed-request.ts';
import { runAfterRestore } from './client/restore-listener.ts';
import { serve } from './server/service-registration.ts';
import type { Bucket, Log, Message, Subscription, Transport } from './wire/transport.ts';
import { CALL_LIMITS, STREAM_LIMITS, type CallLimits, type StreamLimits, type BusContext } from './client/bus-context.ts';

const DRAIN_GRACE_MS = 10_000;

export interface BusOptions {
  log: Logger;
  /** The service that owns this bus. It may call the operations that list it as a caller. */
  service?: ServiceName;
  /** Principal of calls made without `as`. Default: the service itself. */
  principal?: Principal;
  replica?: string;
  /** Validates results and events against the contract and fails the call on a violation. For tests and development. */
  checkResults?: boolean;
  streams?: Partial<StreamLimits>;
  calls?: Partial<CallLimits>;
  /** Stores payloads that do not fit a message. Without it, payloads above `maxPayload` are rejected. */
  large?: LargePayloads;
  /** Overrides the adapter's limit for payloads in messages. */
  inlineBytes?: number;
}

/** Creates a bus over any transport. Draining the bus closes the transport. */
export function createBus(transport: Transport, options: BusOptions): Bus {
  const { log, service, principal = servicePrincipal(service ?? 'bus'), replica = mintId('rep') } = options;
  const context: BusContext = {
    transport,
    mux: createMux(transport),
    log: log.child({ module: 'bus' }),
    service,
    replica,
    streams: { ...STREAM_LIMITS, ...options.streams },
    calls: { ...CALL_LIMITS, ...options.calls },
    replyKey: onceMade(createDecryptionKey),
    checkResults: options.checkResults ?? false,
    large: options.large,
    inlineBytes: options.inlineBytes ?? transport.inlineBytes,
  };
  const unobserve = observeBus(context);
  void transport.closed.then(() => {
    unobserve();
    context.mux.shutDown();
  });
  transport.addConnectionListener({ unreachable: () => context.mux.failAll(busUnreachableError()) });
  return speakFor(createShared(context), principal);
}

/** Registers the metrics of this connection. A process with several services has one additional connection. */
function observeBus({ mux, transport, service: owner }: BusContext): () => void {
  const service = owner ?? 'bus';
  const ends = [
    observe('switchyard.bus.pending', { service }, () => mux.size),
    observe('switchyard.bus.held', { service }, () => transport.bufferedBytes()),
    observe('switchyard.bus.connected', { service }, () => Number(transport.connected())),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** State shared by the buses of all principals. */
interface Shared {
  context: BusContext;
  served: Set<Served>;
  log(definition: LogDefinition): Promise<Log>;
  kv(definition: BucketDefinition): Promise<Bucket>;
  drain(): Promise<void>;
}

function createShared(context: BusContext): Shared {
  const { transport, mux } = context;
  const served = new Set<Served>();
  let drained: Promise<void> | undefined;

  async function drain(): Promise<void> {
    await Promise.all([...served].map((one) => one.drain(DRAIN_GRACE_MS)));
    mux.shutDown();
    await transport.drain();
  }

  return {
    context,
    served,
    log: once((definition) => transport.log(definition)),
    kv: once((definition) => transport.kv(definition)),
    drain: () => (drained ??= drain()),
  };
}

function onceMade<T>(make: () => T): () => T {
  let instance: T | undefined;
  return () => (instance ??= make());
}

/** Opens each definition once. A failed attempt is repeated on the next call. */
function once<D extends { name: string }, T>(open: (definition: D) => Promise<T>): (definition: D) => Promise<T> {
  const opened = new Map<string, Promise<T>>();
  return (definition) => {
    let opening = opened.get(definition.name);
    if (opening === undefined) {
      opening = open(definition);
      opened.set(definition.name, opening);
      opening.catch(() => opened.delete(definition.name));
    }
    return opening;
  };
}

function speakFor(shared: Shared, principal: Principal): Bus {
  const { context, served } = shared;
  const { transport } = context;
  const encoded = encodePrincipal(principal);
  const caller: Caller = { principal: encoded };

  return {
    maxPayload: transport.maxPayload,
    closed: transport.closed,
    as: (other) => speakFor(shared, other),
    call: (name, params, options: CallOptions = {}) => call(context, caller, name, { params, options }),
    stream: (name, params, options: CallOptions = {}) => stream(context, caller, name, { params, options }),
    emit: (name, payload) => emit(context, principal, name, payload),
    record: async (event) => record(context, await shared.log(eventLog), event),
    on: (name, onEvent, options = {}) => on(context, name, onEvent, options),
    async serve(contract, handlers, options) {
      const one = await serve(context, contract, handlers, options);
      served.add(one);
      return one;
    },
    forward: (callable, params, head, onReply) => sendRequest(context, { callable, params, head }, onReply),
    forwardStream: (callable, params, head, sink) => streamToSink(context, { callable, params, head }, sink),
    publish(subject, data, { ephemeral = false } = {}) {
      checkSize(context, subject, data);
      transport.publish(ephemeral ? { subject, data, ephemeral } : { subject, data });
    },
    subscribe: (subject, onMessage) => transport.subscribe(subject, guarded(context, onMessage)),
    log: (definition) => shared.log(definition),
    kv: (definition) => shared.kv(definition),
    wake: (service) => void transport.publish({ subject: subjects.wake(service), data: EMPTY }),
    onWake: (service, onWake): Subscription => transport.subscribe(subjects.wake(service), guarded(context, onWake), service),
    discover: (options) => discover(context, options),
    isReplicaConnected: (service, replica) => isReplicaConnected(context, service, replica),
    flush: () => transport.flush(),
    connected: () => transport.connected(),
    onRestored: (restore) => runAfterRestore(context, restore),
    abandon: () => context.mux.failAll(callerShutdownError(context.service)),
    drain: () => shared.drain(),
  };
}

/** Raw publications cannot use the payload store, so tests and development limit them to `INLINE_BYTES`. */
function checkSize({ checkResults, transport }: BusContext, subject: string, { length }: Uint8Array): void {
  const limit = checkResults ? INLINE_BYTES : transport.maxPayload;
  if (length > limit) throw payloadTooLargeError(subject, length, limit);
}

/** Keeps an exception of a subscriber from closing the connection. */
function guarded({ log }: BusContext, listen: (message: Message) => void): (message: Message) => void {
  return (message) => {
    try {
      listen(message);
    } catch (err) {
      log.error({ err, subject: message.subject }, 'a message handler failed');
    }
  };
}

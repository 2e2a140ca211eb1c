export type {
  Bus,
  BusEvent,
  CallOptions,
  Ctx,
  Handler,
  Handlers,
  OnOptions,
  Reply,
  Served,
  ServeOptions,
  StreamCtx,
  StreamSink,
  DiscoverOptions,
} from './client/bus.ts';
export type {
  Bucket,
  BucketEntry,
  Log,
  LogEntry,
  LogPosition,
  Message,
  Outgoing,
  Subscription,
  Transport,
  Watch,
} from './wire/transport.ts';
export type { CallHead, HeaderLines } from './wire/headers.ts';
export { createResultEncoder as createEncoder, type EncodedJson as Encoded } from './wire/encoding.ts';
export { isProgress, readEvent } from './client/events.ts';
export { checkEmits } from './client/emit-check.ts';
export { connectBus, type ConnectBusOptions } from './connect-bus.ts';
export type { BusCredentials } from './nats/bus-credentials.ts';
export { collectPayload as collectLarge, type LargePayload as LargeAnswer, type LargePayloads } from './payloads/large-payloads.ts';
export { createBus, type BusOptions } from './create-bus.ts';
export type { ParamsDecryption } from './payloads/sealed-payloads.ts';
export { connectMemory } from './memory/connect-memory.ts';
export { createMemoryHub, type MemoryHub } from './memory/memory-hub.ts';
export { CERTIFICATE_REJECTED as CERTIFICATE_REFUSED } from './wire/errors.ts';
export { listNatsUsers as natsUsers, type NatsUser } from './nats/nats-permissions.ts';
export { encodePrincipal } from './wire/principal-header.ts';

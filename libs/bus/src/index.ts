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
} from './bus.ts';
export type { Bucket, BucketEntry, Log, LogEntry, LogPosition, Message, Outgoing, Subscription, Transport, Watch } from './transport.ts';
export type { CallHead, HeaderLines } from './headers.ts';
export { createEncoder, type Encoded } from './encoded.ts';
export { readEvent } from './events.ts';
export { checkEmits } from './attribution.ts';
export { connectBus, type ConnectBusOptions } from './connect-bus.ts';
export type { BusCredentials } from './credentials.ts';
export { collectLarge, type LargeAnswer, type LargePayloads } from './large.ts';
export { createBus, type BusOptions } from './create-bus.ts';
export type { ParamsDecryption } from './sealed.ts';
export { connectMemory } from './memory/connect-memory.ts';
export { createMemoryHub, type MemoryHub } from './memory/memory-hub.ts';
export { CERTIFICATE_REFUSED } from './failures.ts';
export { natsUsers, type NatsUser } from './nats/nats-permissions.ts';
export { encodePrincipal } from './principal.ts';

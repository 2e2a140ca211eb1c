export type { Bus, BusEvent, CallOptions, Ctx, Handler, Handlers, OnOptions, Reply, Served, ServeOptions } from './bus.ts';
export type { Bucket, BucketEntry, Log, LogEntry, Message, Outgoing, Subscription, Transport, Watch } from './transport.ts';
export type { CallHead, HeaderLines } from './headers.ts';
export { checkEmits } from './attribution.ts';
export { connectBus, type ConnectBusOptions } from './connect-bus.ts';
export { createBus, type BusOptions } from './create-bus.ts';
export { connectMemory } from './memory/connect-memory.ts';
export { createMemoryHub, type MemoryHub } from './memory/memory-hub.ts';
export { encodePrincipal } from './principal.ts';

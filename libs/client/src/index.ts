export {
  createClient,
  type BatchAnswer,
  type BatchCall,
  type CallableName,
  type CallOptions,
  type CallParams,
  type CallResult,
  type Client,
  type ClientOptions,
} from './client.ts';
export type { ChatEvent, ChatOptions } from './chat.ts';
export type { EventsOptions, SystemEvent } from './system-events.ts';
export { RpcError, type ClientReason } from './rpc-error.ts';
export type { Reconnect } from './timing.ts';

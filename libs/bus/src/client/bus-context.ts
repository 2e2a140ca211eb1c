import type { ServiceName } from '@switchyard/contracts';
import type { DecryptionKey } from '@switchyard/security';
import type { Logger } from '@switchyard/telemetry';
import type { LargePayloads } from '../payloads/large-payloads.ts';
import type { Mux } from '../wire/reply-mux.ts';
import type { Transport } from '../wire/transport.ts';

export interface StreamLimits {
  /** Interval of heartbeats on a stream without other frames. */
  aliveMs: number;
  /** Longest time a reader waits for any frame. */
  silenceMs: number;
  /** Maximum number of frames that a reader may lag behind. */
  maxBehind: number;
}

export const STREAM_LIMITS: StreamLimits = { aliveMs: 10_000, silenceMs: 30_000, maxBehind: 1_024 };

export interface CallLimits {
  /** Interval of heartbeats for a unary call that runs longer than this. */
  aliveMs: number;
  /** Longest time a caller waits for a reply or a heartbeat. */
  silenceMs: number;
}

/** A process without a heartbeat for ten seconds counts as dead. Session leases expire after the same time. */
export const CALL_LIMITS: CallLimits = { aliveMs: 3_000, silenceMs: 10_000 };

/** State shared by the calls, streams, events and servers of one bus. */
export interface BusContext {
  readonly transport: Transport;
  readonly mux: Mux;
  readonly log: Logger;
  /** The service that owns this bus. Undefined in tools and in tests without a service. */
  readonly service: ServiceName | undefined;
  readonly replica: string;
  readonly streams: StreamLimits;
  readonly calls: CallLimits;
  /** Stores payloads larger than `inlineBytes`. Without it, every payload travels in its message. */
  readonly large: LargePayloads | undefined;
  readonly inlineBytes: number;
  /** Decrypts results with sealed members. Generated on first use. */
  readonly replyKey: () => DecryptionKey;
  /** Validates results and events against the contract. For tests and development. */
  readonly checkResults: boolean;
}

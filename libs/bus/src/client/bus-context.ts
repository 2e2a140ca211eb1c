import type { ServiceName } from '@switchyard/contracts';
import type { DecryptionKey } from '@switchyard/security';
import type { Logger } from '@switchyard/telemetry';
import type { LargePayloads } from '../payloads/large-payloads.ts';
import type { Mux } from '../wire/reply-mux.ts';
import type { Transport } from '../wire/transport.ts';

export interface StreamTimeouts {
  /** How often a stream with nothing to say says that it lives. */
  aliveMs: number;
  /** How long a reader waits for any frame. */
  silenceMs: number;
  /** How many frames a reader may be behind. */
  maxBehind: number;
}

export const STREAM_LIMITS: StreamTimeouts = { aliveMs: 10_000, silenceMs: 30_000, maxBehind: 1_024 };

export interface CallLimits {
  /** How often a service says of a call which takes longer than this that it works on it. */
  aliveMs: number;
  /** How long a caller waits for an answer or for a sign of life. */
  silenceMs: number;
}

/** A process that says nothing for ten seconds is gone: as long as others wait before they go on with its turns. */
export const CALL_LIMITS: CallLimits = { aliveMs: 3_000, silenceMs: 10_000 };

/** What calls, streams, events and servers of one bus share. */
export interface BusContext {
  readonly transport: Transport;
  readonly mux: Mux;
  readonly log: Logger;
  /** Whose bus it is; undefined in tools and tests that act for nobody in particular. */
  readonly service: ServiceName | undefined;
  readonly replica: string;
  readonly streams: StreamTimeouts;
  readonly calls: CallLimits;
  /** Where payloads of more than `inlineBytes` go; without it a message carries whatever it can. */
  readonly large: LargePayloads | undefined;
  readonly inlineBytes: number;
  /** Decrypts results with sealed members. Generated on first use. */
  readonly replyKey: () => DecryptionKey;
  /** Whether what handlers answer and emit is held against the contract, for tests and development. */
  readonly checkResults: boolean;
}

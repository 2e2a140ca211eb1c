import type { ServiceName } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { LargePayloads } from './large.ts';
import type { Mux } from './mux.ts';
import type { Transport } from './transport.ts';

export interface StreamLimits {
  /** How often a stream with nothing to say says that it lives. */
  aliveMs: number;
  /** How long a reader waits for any frame. */
  silenceMs: number;
  /** How many frames a reader may be behind. */
  maxBehind: number;
}

export const STREAM_LIMITS: StreamLimits = { aliveMs: 10_000, silenceMs: 30_000, maxBehind: 1_024 };

/** What calls, streams, events and servers of one bus share. */
export interface Wire {
  readonly transport: Transport;
  readonly mux: Mux;
  readonly log: Logger;
  /** Whose bus it is; undefined in tools and tests that act for nobody in particular. */
  readonly service: ServiceName | undefined;
  readonly replica: string;
  readonly streams: StreamLimits;
  /** Where payloads of more than `inlineBytes` go; without it a message carries whatever it can. */
  readonly large: LargePayloads | undefined;
  readonly inlineBytes: number;
  /** Whether what handlers answer and emit is held against the contract, for tests and development. */
  readonly checkResults: boolean;
}

const MIB = 1_048_576;
const MINUTE_MS = 60_000;

export interface BlobLimits {
  /** Maximum size of a blob. */
  maxBytes: number;
  /** Lifetime of a blob, by default and at most. */
  ttlMs: number;
  maxTtlMs: number;
  /** Maximum size of all blobs that a tenant keeps. */
  maxKeptBytes: number;
  /** Maximum number of concurrent reads and writes. */
  maxTransfers: number;
  maxTransfersPerTenant: number;
  /** Age at which a sweep deletes an unfinished upload that a crash left behind. */
  abandonedMs: number;
  /** Maximum time without progress in a transfer. */
  idleMs: number;
  /** Pause between two sweeps. */
  sweepMs: number;
}

export const BLOB_LIMITS: BlobLimits = {
  maxBytes: 256 * MIB,
  ttlMs: 60 * MINUTE_MS,
  maxTtlMs: 7 * 24 * 60 * MINUTE_MS,
  maxKeptBytes: 16_384 * MIB,
  maxTransfers: 256,
  maxTransfersPerTenant: 64,
  abandonedMs: 60 * MINUTE_MS,
  idleMs: 30_000,
  sweepMs: MINUTE_MS,
};

const MIB = 1_048_576;
const MINUTE_MS = 60_000;

/** What one blob, one tenant and all of them together may cost. */
export interface BlobLimits {
  /** The largest blob. */
  maxBytes: number;
  /** How long a blob is kept unless its writer says otherwise, and at most. */
  ttlMs: number;
  maxTtlMs: number;
  /** Writes and reads that run at once. */
  maxTransfers: number;
  maxTransfersPerTenant: number;
  /** Uploads of a tenant that are not finished, whether somebody works on them or not. */
  maxUploadsPerTenant: number;
  /** How long an upload waits to be continued. */
  abandonedMs: number;
  /** A transfer in which nothing moves for so long is ended. */
  idleMs: number;
  /** The pause between two sweeps. */
  sweepMs: number;
}

export const BLOB_LIMITS: BlobLimits = {
  maxBytes: 256 * MIB,
  ttlMs: 60 * MINUTE_MS,
  maxTtlMs: 7 * 24 * 60 * MINUTE_MS,
  maxTransfers: 256,
  maxTransfersPerTenant: 64,
  maxUploadsPerTenant: 128,
  abandonedMs: 60 * MINUTE_MS,
  idleMs: 30_000,
  sweepMs: MINUTE_MS,
};

import type { BlobBackend, BlobKey, StoredBlob } from './blob-backend.ts';
import { expiredBlob, quotaExceeded } from './blob-errors.ts';
import type { BlobLimits } from './blob-limits.ts';
import { NO_EXPIRY_MS, type KeepOptions, type KeptBlob, type KeptUsage } from './blob-store.ts';

/** Age at which the sum of a tenant is read again. Other processes keep and release blobs too. */
const SUM_TTL_MS = 60_000;
/** A refused tenant is counted again at most once in this time. */
const REFUSAL_TTL_MS = 1_000;

interface Sum {
  blobs: number;
  bytes: number;
  readAt: number;
}

export interface KeeperDeps {
  backend: BlobBackend;
  limits: BlobLimits;
  now: () => number;
  /** Fails NOT_FOUND if the blob is unknown or expired. */
  find: (key: BlobKey) => Promise<StoredBlob>;
}

export interface Keeper {
  keep(key: BlobKey, options: KeepOptions): Promise<KeptBlob>;
  release(key: BlobKey, owner: string): Promise<void>;
  usage(tenant: string): Promise<KeptUsage>;
}

/**
 * Keeps blobs within the quota of their tenant. A process keeps the blobs of a tenant one after the other, so that it never exceeds the
 * quota alone; several processes may exceed it by what they keep within `SUM_TTL_MS`.
 */
export function createKeeper({ backend, limits: { maxKeptBytes }, now, find }: KeeperDeps): Keeper {
  const sums = new Map<string, Sum>();
  const queues = new Map<string, Promise<unknown>>();

  function enqueue<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    const next = (queues.get(tenant) ?? Promise.resolve()).then(work);
    const settled = next
      .catch(() => undefined)
      .then(() => {
        if (queues.get(tenant) === settled) queues.delete(tenant);
      });
    queues.set(tenant, settled);
    return next;
  }

  async function readSum(tenant: string, maxAgeMs: number): Promise<Sum> {
    const known = sums.get(tenant);
    if (known !== undefined && now() - known.readAt < maxAgeMs) return known;
    const sum = { ...(await backend.sumKept(tenant)), readAt: now() };
    sums.set(tenant, sum);
    return sum;
  }

  async function requireRoom(tenant: string, bytes: number): Promise<Sum> {
    for (const maxAgeMs of [SUM_TTL_MS, REFUSAL_TTL_MS]) {
      const sum = await readSum(tenant, maxAgeMs);
      if (sum.bytes + bytes <= maxKeptBytes) return sum;
    }
    throw quotaExceeded(maxKeptBytes);
  }

  async function keep(key: BlobKey, { owner, expiresAt = NO_EXPIRY_MS }: KeepOptions): Promise<KeptBlob> {
    const { ref, owner: before } = await find(key);
    const sum = before === undefined ? await requireRoom(key.tenant, ref.size) : undefined;
    const kept = await backend.keep(key, { owner, expiresAt, now: now() });
    if (kept === undefined) throw expiredBlob(key.id);
    if (sum === undefined) return kept;
    sum.blobs += 1;
    sum.bytes += kept.size;
    return kept;
  }

  return {
    keep: (key, options) => enqueue(key.tenant, () => keep(key, options)),
    release: (key, owner) =>
      enqueue(key.tenant, async () => {
        const bytes = await backend.release(key, owner);
        const sum = sums.get(key.tenant);
        if (bytes === undefined || sum === undefined) return;
        sum.blobs -= 1;
        sum.bytes -= bytes;
      }),
    usage: (tenant) =>
      enqueue(tenant, async () => {
        const { blobs, bytes } = await readSum(tenant, REFUSAL_TTL_MS);
        return { blobs, bytes, maxBytes: maxKeptBytes };
      }),
  };
}

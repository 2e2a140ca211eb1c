import { TURNS_LOG } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';

/** Published bytes are counted in time slots and expire with them. */
const SLOTS = 10;
const SLOT_MS = TURNS_LOG.maxAgeMs / SLOTS;
/** The fair level is recomputed after this time, or after this share of the log was filled. */
const LEVEL_INTERVAL_MS = 1_000;
const LEVEL_STEP = 1 / 64;

/** Limits the share of the frame log that each tenant may fill, so that no tenant evicts the frames of others. */
export interface FrameLogQuota {
  /** Returns whether the log may store one more message of a tenant, and counts it if so. */
  admit(tenant: string, bytes: number): boolean;
}

export interface FrameLogQuotaDeps {
  clock: Clock;
  /** Bytes of the log available to this replica. */
  room: () => number;
  /** Overhead of a message in bytes. */
  messageBytes: number;
}

interface TenantUsage {
  total: number;
  /** Bytes by slot: the current one first, then the slots still in the log. */
  slots: number[];
}

/**
 * One tenant fills at most half of this replica's share. If several tenants fill it together, those above a common level are cut, so that
 * light tenants keep everything.
 */
export function createFrameLogQuota({ clock, room, messageBytes }: FrameLogQuotaDeps): FrameLogQuota {
  const tenants = new Map<string, TenantUsage>();
  let slot = 0;
  let total = 0;
  let level = 0;
  let levelAt = -Infinity;
  let nextTotal = 0;

  /** Drops counts of expired slots. */
  function expireSlots(now: number): void {
    const current = Math.floor(now / SLOT_MS);
    const gone = Math.min(current - slot, SLOTS + 1);
    slot = current;
    if (gone <= 0) return;
    for (const [tenant, kept] of tenants) {
      for (const bytes of kept.slots.splice(SLOTS + 1 - gone)) {
        kept.total -= bytes;
        total -= bytes;
      }
      kept.slots.unshift(...Array.from({ length: gone }, () => 0));
      if (kept.total === 0) tenants.delete(tenant);
    }
  }

  function findLevel(now: number): void {
    expireSlots(now);
    const all = room();
    level = findFairLevel([...tenants.values()], total, all / 2);
    levelAt = now;
    nextTotal = total + all * LEVEL_STEP;
  }

  function getUsage(tenant: string): TenantUsage {
    let kept = tenants.get(tenant);
    if (kept === undefined) tenants.set(tenant, (kept = { total: 0, slots: Array.from({ length: SLOTS + 1 }, () => 0) }));
    return kept;
  }

  return {
    admit(tenant, content) {
      const [now, bytes] = [clock.now(), content + messageBytes];
      if (now - levelAt >= LEVEL_INTERVAL_MS || total >= nextTotal) findLevel(now);
      const kept = getUsage(tenant);
      if (kept.total + bytes > level) return false;
      kept.total += bytes;
      kept.slots[0] = (kept.slots[0] ?? 0) + bytes;
      total += bytes;
      return true;
    },
  };
}

/** Returns the level at which all tenants together fit the limit. */
function findFairLevel(tenants: readonly TenantUsage[], total: number, room: number): number {
  if (total <= room) return room;
  let remaining = room;
  let others = tenants.length;
  for (const keptCount of tenants.map((one) => one.total).toSorted((a, b) => a - b)) {
    if (keptCount * others > remaining) return remaining / others;
    remaining -= keptCount;
    others -= 1;
  }
  return remaining;
}

import { TURNS_LOG } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';

/** Published bytes are counted in time slots and expire with them. */
const SLOTS = 10;
const SLOT_MS = TURNS_LOG.maxAgeMs / SLOTS;
/** The level is found anew after a while, and whenever so much of the room was filled. */
const LEVEL_INTERVAL_MS = 1_000;
const LEVEL_STEP = 1 / 64;

/** How much of the log of frames each tenant may fill, so that none pushes out what others said. */
export interface FrameLogQuota {
  /** Whether the log is to keep one more message of a tenant, with so many bytes. What it is to keep is counted. */
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

  /** What the log has let go of is counted no more. */
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
    admit(tenant, said) {
      const [now, bytes] = [clock.now(), said + messageBytes];
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

/** At which height all must be cut so that together they fill no more than this. */
function findFairLevel(tenants: readonly TenantUsage[], total: number, room: number): number {
  if (total <= room) return room;
  let left = room;
  let others = tenants.length;
  for (const kept of tenants.map((one) => one.total).toSorted((a, b) => a - b)) {
    if (kept * others > left) return left / others;
    left -= kept;
    others -= 1;
  }
  return left;
}

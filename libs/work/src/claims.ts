import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { holdLease, type HeldLease, type LeaseTiming } from './lease.ts';
import type { AnyWork, ClaimedDocument, ClaimFields, Rooms } from './rooms.ts';

/** Fields of a document with a lease holder. */
export interface RunningFields extends ClaimFields {
  state: 'running';
  dueAt: number;
  fence: number;
  attempts: number;
}

export interface Claims {
  /** Claims the document that has been due longest, or the first document of a room; null if there is none. */
  next(): Promise<HeldLease | null>;
  /** Returns the fields of a document that is inserted under a lease of this replica, and the time of the clock. */
  prepare(): { fields: RunningFields; sentAt: number };
  /** Starts the lease of a document that was inserted with the prepared fields. */
  hold(tenant: string, document: AnyWork, sentAt: number): HeldLease;
  /** Returns the next time at which a document is due or a room is visited. */
  getNextDueAt(): Promise<number>;
}

export interface ClaimsDeps {
  documents: Collection<AnyWork>;
  rooms: Rooms | undefined;
  owner: string;
  now: () => number;
  clock: Clock;
  timing: LeaseTiming;
}

export function createClaims({ documents, rooms, owner, now, clock, timing }: ClaimsDeps): Claims {
  let sentAt = 0;
  let roomsFirst = false;

  function getFields(): ClaimFields {
    sentAt = clock.now();
    return { owner, leaseUntil: now() + timing.leaseMs };
  }

  async function claimDue(): Promise<ClaimedDocument | undefined> {
    const fields = getFields();
    const claimed = await documents
      .system()
      .claim(
        { dueAt: { lte: now() }, ...(rooms ? { waitRoom: null } : {}) },
        { set: { state: 'running', ...fields, dueAt: fields.leaseUntil }, inc: { fence: 1, attempts: 1 } },
        { sort: [['dueAt', 'asc']] },
      );
    if (!claimed) return undefined;
    const { tenant, ...document } = claimed;
    return { tenant, document };
  }

  async function claim(): Promise<ClaimedDocument | undefined> {
    if (!rooms) return claimDue();
    // Neither work with a room nor work without one starves.
    roomsFirst = !roomsFirst;
    return roomsFirst ? ((await rooms.claim(getFields)) ?? claimDue()) : ((await claimDue()) ?? rooms.claim(getFields));
  }

  function hold(tenant: string, document: AnyWork, since: number): HeldLease {
    return holdLease({
      tenant,
      documents: documents.for({ tenant }),
      key: documents.key,
      document,
      now,
      clock,
      sentAt: since,
      timing,
      rooms,
    });
  }

  return {
    async next() {
      const claimed = await claim();
      return claimed ? hold(claimed.tenant, claimed.document, sentAt) : null;
    },
    prepare() {
      const leaseUntil = now() + timing.leaseMs;
      return { fields: { state: 'running', owner, leaseUntil, dueAt: leaseUntil, fence: 1, attempts: 1 }, sentAt: clock.now() };
    },
    hold,
    async getNextDueAt() {
      const next = await documents.system().find({ dueAt: { gt: 0 } }, { sort: [['dueAt', 'asc']], limit: 1 });
      return Math.min(next.items[0]?.dueAt ?? Infinity, (await rooms?.getNextVisit()) ?? Infinity);
    },
  };
}

import { AsyncLocalStorage } from 'node:async_hooks';
import { ServiceError, type Principal } from '@switchyard/contracts';
import { systemClock } from '@switchyard/service-kit';
import { inserted, type Filter, type OutboxEvent } from '@switchyard/store';
import { createClaims } from './claims.ts';
import { LEASE_TIMING, type Lease } from './lease.ts';
import { createRooms, getTurnFields, type AnyWork } from './rooms.ts';
import { createRunner } from './runner.ts';
import type { Fields, Outcome, WorkChange } from './work-document.ts';
import type { WorkOptions } from './work-options.ts';

/** Attempts when the state of the document changes between the updates of a wake. */
const WAKE_ATTEMPTS = 2;

type Tenant = Pick<Principal, 'tenant'>;

export interface AddOptions<D> {
  /** When the document may start; now by default. */
  dueAt?: number;
  /** A unique set of the collection that identifies the document, instead of its key. */
  key?: readonly (keyof D & string)[];
  /** Describes the content of the request. A stored document with another fingerprint is not returned. */
  fingerprint?: string | undefined;
  /** Events that are emitted with the insert; none when the document exists. */
  emit?: readonly OutboxEvent[] | undefined;
  /**
   * Inserts the document under a lease of this replica and runs it with this function at once, whatever the capacity, because what it
   * needs is in this process. Another replica that takes over uses `run`. Not for documents with a room.
   */
  runHere?: (lease: Lease<D>) => Promise<Outcome<D>>;
}

export interface Work<D> extends AsyncDisposable {
  /**
   * Inserts the document. If its key exists, returns the stored document instead. Throws INVALID_ARGUMENT (reason IDEMPOTENCY_MISMATCH)
   * if the stored document has another fingerprint.
   */
  add(principal: Tenant, document: D, options?: AddOptions<D>): Promise<{ document: D; existed: boolean }>;
  /** Makes a queued or parked document due now and applies the change; null if the guard does not match or the document has ended. */
  wake(tenant: string, key: string, change?: WorkChange<D>, guard?: Filter<D>): Promise<D | null>;
  /** Ends the document as cancelled; null if the guard does not match or the document has ended. A running holder is fenced. */
  cancel(tenant: string, key: string, set?: Fields<D>, guard?: Filter<D>): Promise<D | null>;
  /**
   * Starts due documents up to the capacity, and documents that become due meanwhile. Does not wait, because a backlog may last for minutes.
   * A failure is repeated by the timer.
   */
  startDue(): void;
  /** Like `startDue`, but resolves when no due document is left to claim, and rejects on a failure. */
  poll(): Promise<void>;
}

export function createWork<D extends AnyWork>(options: WorkOptions<D>): Work<D> {
  return start(options as unknown as WorkOptions<AnyWork>) as unknown as Work<D>;
}

function start({ documents, now, timing = LEASE_TIMING, clock = systemClock, ...options }: WorkOptions<AnyWork>): Work<AnyWork> {
  const { key } = documents;
  const rooms = options.rooms && createRooms({ work: documents, rooms: options.rooms, now, leaseMs: timing.leaseMs });
  const claims = createClaims({ documents, rooms, owner: options.owner, now, clock, timing });
  const runner = createRunner({ ...options, key, claims, rooms, now, clock });
  // A poll runs whatever is due. It belongs to no call, although a call may start it.
  const runOutsideCall = AsyncLocalStorage.snapshot();

  /** Makes replicas visit the room of a document that entered a line. A failure delays the visit until the ring is repeated. */
  async function ringLine(tenant: string, { waitRoom, waitAt = 0 }: AnyWork): Promise<void> {
    if (waitRoom !== undefined) await rooms?.ring(tenant, waitRoom, waitAt, { create: true }).catch(() => undefined);
  }

  async function insert(
    { tenant }: Tenant,
    document: AnyWork,
    { key: unique = [key], fingerprint, emit }: AddOptions<AnyWork>,
  ): Promise<{ document: AnyWork; existed: boolean }> {
    const own = documents.for({ tenant });
    let stored: AnyWork | undefined;
    const isNew = await inserted(async () => (stored = await own.insert(document, emit && { emit: [...emit] })));
    stored ??= (await own.find(Object.fromEntries(unique.map((field) => [field, document[field]])), { limit: 1 })).items[0];
    if (!stored) throw uniqueSetTaken(unique);
    if (!isNew && stored.fingerprint !== fingerprint) throw fingerprintMismatch(unique);
    return { document: stored, existed: !isNew };
  }

  async function addRunning(
    { tenant }: Tenant,
    document: AnyWork,
    addOptions: AddOptions<AnyWork> & Pick<Required<AddOptions<AnyWork>>, 'runHere'>,
  ) {
    const { fields, sentAt } = claims.prepare();
    const { fingerprint, runHere } = addOptions;
    const added = { ...document, ...fields, ...(fingerprint === undefined ? {} : { fingerprint }) };
    const result = await insert({ tenant }, added, addOptions);
    if (!result.existed) runner.run(claims.hold(tenant, result.document, sentAt), runHere);
    return result;
  }

  return {
    async add({ tenant }, document, { dueAt = now(), key: unique = [key], fingerprint, emit, runHere } = {}) {
      if (runHere) return addRunning({ tenant }, document, { key: unique, fingerprint, emit, runHere });
      const waiting = rooms ? await rooms.enter(tenant, document, dueAt) : { dueAt };
      const added = { ...document, ...waiting, ...(fingerprint === undefined ? {} : { fingerprint }) };
      const result = await insert({ tenant }, added, { key: unique, fingerprint, emit });
      // The first attempt to add the document may have failed before the ring.
      await ringLine(tenant, result.document);
      return result;
    },
    async wake(tenant, id, change = {}, guard = {}) {
      const own = documents.for({ tenant });
      const update = (set: Partial<AnyWork>, condition: Filter<AnyWork>) =>
        own.update({ ...guard, [key]: id }, { ...change, set: { ...change.set, ...set }, inc: { ...change.inc, wakes: 1 }, if: condition });
      const state = { in: ['queued', 'parked'] as const };
      const queued = { state: 'queued' as const };
      const wakeIdle = async () =>
        (await update({ ...queued, dueAt: now() }, { state, ...(rooms ? { waitRoom: null } : {}) })) ?? (rooms ? await wakeInLine() : null);
      const wakeInLine = async () =>
        (await update({ ...queued, ...getTurnFields(now()) }, { state, waitAt: { gt: now() } })) ??
        update({ ...queued, dueAt: getTurnFields(now()).dueAt }, { state, waitRoom: { exists: true } });
      for (let attempt = 0; attempt < WAKE_ATTEMPTS; attempt += 1) {
        const woken = (await wakeIdle()) ?? (await update({}, { state: 'running' }));
        if (!woken) continue;
        await ringLine(tenant, woken);
        return woken;
      }
      return null;
    },
    async cancel(tenant, id, set = {}, guard = {}) {
      const cancelled = await documents.for({ tenant }).update(
        { ...guard, [key]: id },
        {
          set: { ...set, state: 'cancelled', leaseUntil: 0 },
          unset: ['dueAt', 'waitRoom', 'waitAt', 'waitOrder', 'slotRoom', 'slot'],
          if: { state: { in: ['queued', 'parked', 'running'] } },
        },
      );
      // After a failure the room is visited when the lease would have expired.
      if (cancelled && rooms) await rooms.ring(tenant, rooms.getName(tenant, cancelled), now()).catch(() => undefined);
      return cancelled;
    },
    startDue: () => void runOutsideCall(() => runner.poll()).catch(() => undefined),
    poll: () => runOutsideCall(() => runner.poll()),
    [Symbol.asyncDispose]: () => runner.close(),
  };
}

function uniqueSetTaken(unique: readonly string[]): ServiceError {
  return new ServiceError(
    'ABORTED',
    `Another document exists, but none with the same ${unique.join(' and ')}. Retry, or use another key.`,
    {
      details: { reason: 'UNIQUE_SET_TAKEN' },
    },
  );
}

function fingerprintMismatch(unique: readonly string[]): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `The same ${unique.join(' and ')} was used for another request. Use another value.`, {
    details: { reason: 'IDEMPOTENCY_MISMATCH' },
  });
}

import { ServiceError, type Principal } from '@switchyard/contracts';
import { atIntervals, type Clock } from '@switchyard/service-kit';
import { inserted, type Collection, type Documents, type Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { StorageUsageDocument } from '../model/storage-usage-document.ts';
import { countStored, type CountedCollections } from './storage-recount.ts';

export interface StorageOwner {
  tenant: string;
  /** Undefined for a session that belongs to no client. */
  client?: string | undefined;
}

export interface StorageLimits {
  maxClientBytes: number;
  maxTenantBytes: number;
}

/** Limits the bytes that a client and a tenant store in sessions and responses. */
export interface StorageQuota extends AsyncDisposable {
  /** Throws if the client or the tenant has reached its quota. Uses the last known counts, so that it costs no database access. */
  rejectIfFull(owner: Pick<Principal, 'tenant' | 'client'>): void;
  /** Counts stored bytes; negative for removed ones. They are written in the background. */
  add(owner: StorageOwner, bytes: number): void;
}

export interface StorageQuotaDeps extends CountedCollections {
  usage: Collection<StorageUsageDocument>;
  store: Pick<Store, 'now'>;
  clock: Clock;
  log: Logger;
  limits: () => StorageLimits;
  /** Interval at which counts are written and read. A quota is exceeded by at most what is stored in this time. */
  syncMs: number;
}

const RECOUNT_INTERVAL_MS = 21_600_000;
/** Recount interval of a tenant with a refused client, because expired responses are not subtracted before. */
const FULL_RECOUNT_INTERVAL_MS = 60_000;
/** Synchronizations after which an unused counter is dropped from memory. */
const MAX_IDLE_SYNCS = 600;
const TENANT_ID = 'tenant';

interface Counter {
  tenant: string;
  id: string;
  /** Bytes in the database, as last read. Undefined before the first read. */
  stored: number | undefined;
  /** Bytes counted here that are not yet written. */
  pending: number;
  idleSyncs: number;
  /** A write was refused since the last recount. */
  refused: boolean;
}

/**
 * Counts stored bytes per client and tenant. Each replica adds its changes to shared counters once per interval and not with each write,
 * so that a turn needs no further commit. A recount from the documents corrects counts that a crash lost.
 */
export function createStorageQuota(deps: StorageQuotaDeps): StorageQuota {
  const { usage, clock, log, limits, syncMs } = deps;
  const counters = new Map<string, Counter>();

  function getCounter(tenant: string, id: string): Counter {
    const key = `${tenant} ${id}`;
    const known = counters.get(key) ?? { tenant, id, stored: undefined, pending: 0, idleSyncs: 0, refused: false };
    counters.set(key, known);
    known.idleSyncs = 0;
    return known;
  }

  async function sync(): Promise<void> {
    for (const [key, counter] of counters) {
      counter.idleSyncs += 1;
      const document = await syncCounter(usage.for(counter), counter);
      if (counter.id === TENANT_ID && document) await recount(counter, document);
      if (counter.idleSyncs > MAX_IDLE_SYNCS && counter.pending === 0) counters.delete(key);
    }
  }

  async function recount({ tenant, refused }: Counter, { recountedAt }: StorageUsageDocument): Promise<void> {
    const ofTenant = [...counters.values()].filter((counter) => counter.tenant === tenant);
    // Changes that were counted before the recount are in the documents.
    const begin = (): void => ofTenant.forEach((counter) => (counter.pending = 0));
    if (!(await recountIfDue(deps, { tenant, recountedAt, refused }, begin))) return;
    for (const counter of ofTenant) {
      counter.refused = false;
      await syncCounter(usage.for(counter), counter);
    }
  }

  const failed = (err: unknown): void =>
    log.warn({ err, errorKind: 'dependency', hint: 'retrying' }, 'failed to count stored bytes; retrying');
  const syncing = atIntervals({ clock, ms: syncMs, failed }, sync);

  return {
    rejectIfFull({ tenant, client }) {
      const { maxClientBytes, maxTenantBytes } = limits();
      const ofTenant = getCounter(tenant, TENANT_ID);
      const ofClient = getCounter(tenant, clientId(client));
      const full = isFull(ofClient, maxClientBytes)
        ? clientFull(client, maxClientBytes)
        : isFull(ofTenant, maxTenantBytes)
          ? tenantFull(tenant, maxTenantBytes)
          : undefined;
      if (!full) return;
      ofTenant.refused = true;
      throw full;
    },
    add({ tenant, client }, bytes) {
      getCounter(tenant, TENANT_ID).pending += bytes;
      if (client !== undefined) getCounter(tenant, clientId(client)).pending += bytes;
    },
    async [Symbol.asyncDispose]() {
      await syncing[Symbol.asyncDispose]();
      await sync().catch(failed);
    },
  };
}

function clientId(client: string): string {
  return `client ${client}`;
}

function isFull({ stored, pending }: Counter, limit: number): boolean {
  return stored !== undefined && stored + pending >= limit;
}

/** Writes the changes of this replica, if there are any, and reads the count of all replicas. */
async function syncCounter(usage: Documents<StorageUsageDocument>, counter: Counter): Promise<StorageUsageDocument | null> {
  const { id, pending } = counter;
  const document = await (pending === 0 ? usage.get(id) : usage.update({ id }, { inc: { bytes: pending } }));
  if (!document && (pending !== 0 || id === TENANT_ID)) {
    // Another replica may have inserted it. The next synchronization adds the changes then.
    if (!(await inserted(() => usage.insert({ id, bytes: pending })))) return null;
  }
  counter.pending -= pending;
  counter.stored = document?.bytes ?? pending;
  return document;
}

interface RecountOptions {
  tenant: string;
  recountedAt: number | undefined;
  refused: boolean;
}

/** Replaces the counts of a tenant by those of its documents. Of all replicas one recounts at a time. Returns whether it recounted. */
async function recountIfDue(deps: StorageQuotaDeps, { tenant, recountedAt, refused }: RecountOptions, begin: () => void): Promise<boolean> {
  const now = deps.store.now();
  const usage = deps.usage.for({ tenant });
  if (recountedAt !== undefined && recountedAt > now - (refused ? FULL_RECOUNT_INTERVAL_MS : RECOUNT_INTERVAL_MS)) return false;
  if (!(await usage.update({ id: TENANT_ID, recountedAt: recountedAt ?? null }, { set: { recountedAt: now } }))) return false;
  begin();
  const totals = await countStored(deps, tenant);
  await usage.update({ id: TENANT_ID }, { set: { bytes: totals.tenant } });
  await recountClients(usage, totals.clients);
  return true;
}

async function recountClients(usage: Documents<StorageUsageDocument>, clients: ReadonlyMap<string, number>): Promise<void> {
  const left = new Map([...clients].map(([client, bytes]) => [clientId(client), bytes]));
  let cursor: string | undefined;
  do {
    const page = await usage.find({}, cursor === undefined ? {} : { cursor });
    for (const { id, bytes } of page.items) {
      const counted = left.get(id) ?? 0;
      left.delete(id);
      if (id !== TENANT_ID && bytes !== counted) await usage.update({ id }, { set: { bytes: counted } });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  for (const [id, bytes] of left) await usage.replace({ id, bytes });
}

function clientFull(client: string, limit: number): ServiceError {
  const subject = `The client ${client} has used its storage quota of ${limit} bytes`;
  return quotaExceeded(`${subject}. Delete sessions or responses, or raise security.storage.maxClientBytes.`);
}

function tenantFull(tenant: string, limit: number): ServiceError {
  const subject = `The tenant ${tenant} has used its storage quota of ${limit} bytes`;
  return quotaExceeded(`${subject}. Delete sessions or responses, or raise security.storage.maxTenantBytes.`);
}

function quotaExceeded(message: string): ServiceError {
  return new ServiceError('RESOURCE_EXHAUSTED', message, { details: { reason: 'STORAGE_QUOTA_EXCEEDED', retryable: false } });
}

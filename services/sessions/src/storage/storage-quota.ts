import { ServiceError, type Principal } from '@switchyard/contracts';
import { atIntervals, type Clock } from '@switchyard/service-kit';
import { inserted, type Collection, type Documents, type Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { StorageUsageDocument } from '../model/storage-usage-document.ts';
import { finishRecount, isRecountDue, startRecount, type CountedCollections, type RunningRecount } from './storage-recount.ts';
import { clientId, TENANT_ID } from './usage-counters.ts';

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

/** Synchronizations after a recount has read the documents. By then all replicas have written what they changed meanwhile. */
const SETTLE_SYNCS = 5;
/** Synchronizations after which an unused counter is dropped from memory. */
const MAX_IDLE_SYNCS = 600;

interface Counter {
  tenant: string;
  id: string;
  /** Bytes in the database, as last read. Undefined before the first read. */
  stored: number | undefined;
  /** Bytes counted here that are not yet written. */
  pending: number;
  /** Sum of all added and removed bytes that are not yet written. */
  changed: number;
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
  const recounts = new Map<string, RunningRecount & { syncsLeft: number }>();

  function getCounter(tenant: string, id: string): Counter {
    const key = `${tenant} ${id}`;
    const known = counters.get(key) ?? { tenant, id, stored: undefined, pending: 0, changed: 0, idleSyncs: 0, refused: false };
    counters.set(key, known);
    known.idleSyncs = 0;
    return known;
  }

  function count(tenant: string, id: string, bytes: number): void {
    const counter = getCounter(tenant, id);
    counter.pending += bytes;
    counter.changed += Math.abs(bytes);
  }

  async function sync(): Promise<void> {
    for (const [key, counter] of counters) {
      counter.idleSyncs += 1;
      const document = await syncCounter(usage.for(counter), counter);
      if (counter.id === TENANT_ID && document) await recount(counter, document);
      if (counter.idleSyncs > MAX_IDLE_SYNCS && counter.changed === 0 && !recounts.has(counter.tenant)) counters.delete(key);
    }
  }

  /** Takes one step of a recount: reads the documents, or corrects the counters some synchronizations later. */
  async function recount({ tenant, refused }: Counter, { recountedAt }: StorageUsageDocument): Promise<void> {
    const running = recounts.get(tenant);
    if (running === undefined) {
      if (!isRecountDue(deps, { recountedAt, refused })) return;
      const started = await startRecount(deps, tenant, recountedAt);
      if (started) recounts.set(tenant, { ...started, syncsLeft: SETTLE_SYNCS });
      return;
    }
    running.syncsLeft -= 1;
    if (running.syncsLeft > 0) return;
    recounts.delete(tenant);
    await finishRecount(usage.for({ tenant }), running);
    for (const counter of counters.values()) {
      if (counter.tenant !== tenant) continue;
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
      count(tenant, TENANT_ID, bytes);
      if (client !== undefined) count(tenant, clientId(client), bytes);
    },
    async [Symbol.asyncDispose]() {
      await syncing[Symbol.asyncDispose]();
      await sync().catch(failed);
    },
  };
}

function isFull({ stored, pending }: Counter, limit: number): boolean {
  return stored !== undefined && stored + pending >= limit;
}

/** Writes the changes of this replica, if there are any, and reads the count of all replicas. */
async function syncCounter(usage: Documents<StorageUsageDocument>, counter: Counter): Promise<StorageUsageDocument | null> {
  const { id, pending, changed } = counter;
  const document = await (changed === 0 ? usage.get(id) : usage.update({ id }, { inc: { bytes: pending, changed } }));
  if (!document && (changed !== 0 || id === TENANT_ID)) {
    // Another replica may have inserted it. The next synchronization adds the changes then.
    if (!(await inserted(() => usage.insert({ id, bytes: pending, changed })))) return null;
  }
  counter.pending -= pending;
  counter.changed -= changed;
  counter.stored = document?.bytes ?? pending;
  return document;
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

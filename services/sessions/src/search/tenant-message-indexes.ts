import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { createServiceError, ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { openSearchIndex, type SearchIndex, type Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { HistoryDeps } from '../sessions/session-directory.ts';
import { coalesce } from '../queue/coalesce.ts';
import { createSaidIndex, type SaidIndex } from './message-index.ts';

/** One index per tenant, with its own files and thread, so that a search never reads or counts the messages of another tenant. */
export interface SaidIndexes extends AsyncDisposable {
  /**
   * Passes the updated index of a tenant to `work`. Throws UNAVAILABLE with reason INDEX_BEHIND if the update takes too long. The
   * update continues, so a retry finds more. Throws RESOURCE_EXHAUSTED at the maximum number of concurrently searching tenants.
   */
  use<T>(tenant: string, work: (index: SaidIndex) => Promise<T>): Promise<T>;
}

export interface SaidIndexesDeps extends HistoryDeps {
  store: Pick<Store, 'now' | 'identity'>;
  /** Directory of the indexes on this machine. */
  dir: string;
  log: Logger;
}

/** Maximum number of open indexes, each with one thread. Idle indexes are kept open for later searches. */
const MAX_OPEN = 8;
const IDLE_MS = 300_000;
const SWEEP_MS = 600_000;
/** Maximum wait of a search for the index update. */
const BEHIND_MS = 10_000;

interface Open extends AsyncDisposable {
  index: SearchIndex;
  messageIndex: SaidIndex;
  /** Updates the index. Concurrent calls are coalesced into one run. */
  follow: () => Promise<void>;
  using: number;
  usedAt: number;
  sweptAt: number;
}

export function createSaidIndexes(deps: SaidIndexesDeps): SaidIndexes {
  const { clock, log } = deps;
  const open = new Map<string, Open>();
  let closed = false;

  function closeIdle(): void {
    for (const [tenant, one] of open) {
      if (one.using > 0 || clock.now() - one.usedAt < IDLE_MS) continue;
      open.delete(tenant);
      void one[Symbol.asyncDispose]();
    }
  }

  /** Moves the entry to the end, so that the least recently used index is closed first. */
  function take(tenant: string): Open {
    const found = open.get(tenant);
    if (found?.index.alive) {
      open.delete(tenant);
      open.set(tenant, found);
      return found;
    }
    if (!found && open.size >= MAX_OPEN) makeRoom();
    const opened = openOne(deps, tenant);
    open.set(tenant, opened);
    return opened;
  }

  function makeRoom(): void {
    const idle = [...open].find(([, { using }]) => using === 0);
    if (!idle) throw crowded();
    open.delete(idle[0]);
    void idle[1][Symbol.asyncDispose]();
  }

  async function useOne<T>(one: Open, work: (index: SaidIndex) => Promise<T>): Promise<T> {
    one.using += 1;
    try {
      await inTime(clock, one.follow());
      void sweepNowAndThen(deps, one);
      return await work(one.messageIndex);
    } finally {
      one.using -= 1;
      one.usedAt = clock.now();
    }
  }

  const stop = clock.every(IDLE_MS / 5, closeIdle);
  return {
    async use(tenant, work) {
      const one = take(tenant);
      try {
        return await useOne(one, work);
      } catch (error) {
        // The index discards a damaged file when it reads it. The messages are in the documents and are indexed again.
        if (one.index.alive || closed) throw error;
        log.warn(
          { err: error, errorKind: 'dependency', hint: 'check the disk if this repeats' },
          'a search index failed; opening it again',
        );
        return useOne(take(tenant), work);
      }
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      stop();
      await Promise.all([...open.values()].map((one) => one[Symbol.asyncDispose]()));
      log.debug({ tenants: open.size }, 'closed idle search indexes');
    },
  };
}

function openOne(deps: SaidIndexesDeps, tenant: string): Open {
  const { dir, store, clock } = deps;
  let closed = false;
  const place = createHash('sha256').update(tenant).digest('hex').slice(0, 32);
  const index = openSearchIndex(join(dir, place), { identity: `${store.identity} ${tenant}` });
  const messageIndex = createSaidIndex({ ...deps, tenant, index, goesOn: () => !closed });
  let following: Promise<void> = Promise.resolve();
  const follow = coalesce(() => (following = messageIndex.follow()));
  return {
    index,
    messageIndex,
    follow,
    using: 0,
    usedAt: clock.now(),
    sweptAt: -SWEEP_MS,
    async [Symbol.asyncDispose]() {
      closed = true;
      await following.catch(() => undefined);
      await index[Symbol.asyncDispose]();
    },
  };
}

/** Runs in the background. The sweep removes only entries that no search result shows and restores entries that were missing before. */
async function sweepNowAndThen({ clock, log }: SaidIndexesDeps, one: Open): Promise<void> {
  if (clock.now() - one.sweptAt < SWEEP_MS) return;
  one.sweptAt = clock.now();
  try {
    const sessions = await one.messageIndex.sweep();
    if (sessions > 0) log.warn({ sessions, errorKind: 'dependency', hint: 'check the disk' }, 'restored missing words of a search index');
  } catch (err) {
    if (one.index.alive) log.warn({ err, errorKind: 'dependency', hint: 'retrying within minutes' }, 'failed to verify a search index');
  }
}

async function inTime(clock: Clock, following: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const stop = clock.after(BEHIND_MS, () => late.reject(createIndexBehindError()));
  try {
    await Promise.race([following, late.promise]);
  } finally {
    stop();
    // The update continues in the background. The next call reports its error.
    following.catch(() => undefined);
  }
}

function createIndexBehindError(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'These sessions are still being indexed. Retry in a moment.', {
    details: { reason: 'INDEX_BEHIND', retryable: true, retryAfterMs: 2_000 },
  });
}

function crowded(): ServiceError {
  return createServiceError('RESOURCE_EXHAUSTED', 'The limit of concurrently searching tenants is reached. Retry in a moment.', {
    details: { reason: 'SEARCH_CROWDED', retryAfterMs: 1_000 },
  });
}

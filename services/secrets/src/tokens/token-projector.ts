import { isDeepStrictEqual } from 'node:util';
import {
  bucketKey,
  bucketKeyParts,
  TOKENS_BUCKET,
  TOKENS_COMPLETE_KEY,
  TokenProjection,
  type TokensCompleteMarker,
} from '@switchyard/contracts';
import type { BucketEntry, Bus } from '@switchyard/bus';
import { watchReplicas } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { z } from 'zod';
import { isLive, type LiveToken, type TokenDocument } from '../documents/collections.ts';
import { getClientId, readGrant } from './grant-rules.ts';

/** How long a change waits for the confirmation of every live gateway. */
const CONFIRM_TIMEOUT_MS = 1_000;
const PAGE_SIZE = 500;
/** Tokens written concurrently. After data loss they must be back before the gateways drop their copies (5 s). */
const SYNC_BATCH_SIZE = 32;
const SYNC_COMPLETE: z.infer<typeof TokensCompleteMarker> = { told: true };

/** Keeps the KV bucket `tokens`, which the gateways watch, equal to the stored tokens. */
export interface TokenProjector {
  /** Publishes the current state of a token. Resolves when all live gateways have it, or after a second. */
  publish(tenant: string, id: string): Promise<void>;
  /** Same as `publish`, for a revoked token. */
  withdraw(tenant: string, id: string): Promise<void>;
  /** Publishes all tokens: at startup, because a crash can leave the bucket behind the store, and after the bus lost its data. */
  rebuild(): Promise<void>;
}

/** Watches gateways from the start, so that it still waits for them after the bus lost their reports. */
export async function openTokenProjector(bus: Bus, tokens: Collection<TokenDocument>): Promise<TokenProjector & Disposable> {
  const bucket = await bus.kv(TOKENS_BUCKET);
  const gateways = await watchReplicas(bus, TOKENS_BUCKET);
  const awaitGateways = (revision: number): Promise<boolean> =>
    gateways.awaitRevision({ service: 'gateway', revision, timeoutMs: CONFIRM_TIMEOUT_MS });

  let lastRebuild = 0;

  /** Reads the entry, then the token, writes over exactly that entry, and checks again until both agree. */
  async function syncEntry(tenant: string, id: string): Promise<number> {
    const key = bucketKey(tenant, id);
    const documents = tokens.for({ tenant });
    let revision = 0;
    for (;;) {
      const entry = await bucket.get(key);
      const token = await documents.get(id);
      const projection = isLive(token) ? toProjection(tenant, token) : undefined;
      if (isDeepStrictEqual(parseEntry(entry), projection)) return entry?.revision ?? revision;
      if (projection === undefined) revision = await bucket.remove(key);
      else await bucket.update(key, Buffer.from(JSON.stringify(projection)), entry?.revision ?? 0);
    }
  }

  return {
    async publish(tenant, id) {
      await awaitGateways(await syncEntry(tenant, id));
    },

    async withdraw(tenant, id) {
      const removed = await bucket.remove(bucketKey(tenant, id)); // not older than the revision of a concurrent removal
      await awaitGateways(Math.max(removed, await syncEntry(tenant, id)));
    },

    async rebuild() {
      const run = ++lastRebuild;
      const owners = new Map<string, Owner>();
      for await (const { tenant, id } of listTokens(tokens)) owners.set(bucketKey(tenant, id), { tenant, id });
      for (const key of await bucket.keys()) {
        if (key === TOKENS_COMPLETE_KEY) continue;
        const owner = bucketKeyParts(key);
        if (owner === undefined) await bucket.remove(key);
        else owners.set(key, owner);
      }
      const all = [...owners.values()];
      for (let at = 0; at < all.length; at += SYNC_BATCH_SIZE) {
        await Promise.all(all.slice(at, at + SYNC_BATCH_SIZE).map(({ tenant, id }) => syncEntry(tenant, id)));
      }
      // If another rebuild started meanwhile, some of these entries may be lost again.
      const isComplete = run === lastRebuild && (await bucket.get(TOKENS_COMPLETE_KEY))?.value === undefined;
      if (isComplete) await bucket.put(TOKENS_COMPLETE_KEY, Buffer.from(JSON.stringify(SYNC_COMPLETE)));
    },

    [Symbol.dispose]: () => gateways[Symbol.dispose](),
  };
}

interface Owner {
  tenant: string;
  id: string;
}

function toProjection(tenant: string, token: LiveToken): TokenProjection {
  const { id, hash, ver } = token;
  return { id, hash, ...readGrant(token), tenant, client: getClientId(token), ver };
}

/** Null for an unreadable entry, which is then overwritten. */
function parseEntry(entry: BucketEntry | undefined): TokenProjection | null | undefined {
  if (entry?.value === undefined) return undefined;
  try {
    return TokenProjection.parse(JSON.parse(Buffer.from(entry.value).toString()));
  } catch {
    return null;
  }
}

/** In key order, so that a concurrent change does not skip tokens. */
async function* listTokens(tokens: Collection<TokenDocument>): AsyncGenerator<TokenDocument & { tenant: string }> {
  let cursor: string | undefined;
  do {
    const page = await tokens.system().find({}, { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items.filter(isLive);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

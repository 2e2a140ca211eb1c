import { TOKENS_BUCKET, TokenProjection, type BucketDefinition } from '@switchyard/contracts';
import type { Bucket, Bus } from '@switchyard/bus';
import { awaitRevision } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { TokenDocument } from '../data.ts';

/** How long a change waits for every live gateway to say that it has it (ARCHITECTURE 9.7). */
const CONFIRM_MS = 1_000;
const PAGE = 500;

/** Keeps the bucket the gateways watch equal to the tokens that are stored. */
export interface TokenProjector {
  /** Puts a token's present state before the gateways; resolves when the live ones have it, or after a second. */
  publish(tenant: string, token: TokenDocument): Promise<void>;
  /** As publish, for a token that is gone. */
  withdraw(tenant: string, id: string): Promise<void>;
  /** Everything anew: at start, and for what a crash between two writes left behind. */
  rebuild(): Promise<void>;
}

export async function openProjector(bus: Bus, tokens: Collection<TokenDocument>): Promise<TokenProjector> {
  const definition: BucketDefinition = TOKENS_BUCKET;
  const bucket = await bus.kv(definition);
  const confirmed = (revision: number): Promise<boolean> =>
    awaitRevision({ bus, service: 'gateway', bucket: definition.name, revision, timeoutMs: CONFIRM_MS });

  return {
    async publish(tenant, token) {
      const revision = await put(bucket, project(tenant, token));
      if (revision !== undefined) await confirmed(revision);
    },

    async withdraw(tenant, id) {
      await confirmed(await bucket.remove(keyOf(tenant, id)));
    },

    async rebuild() {
      const kept = new Set<string>();
      for await (const token of allTokens(tokens)) {
        kept.add(keyOf(token.tenant, token.id));
        await put(bucket, project(token.tenant, token));
      }
      for (const key of await bucket.keys()) if (!kept.has(key)) await bucket.remove(key);
    },
  };
}

function keyOf(tenant: string, id: string): string {
  return `${tenant}.${id}`;
}

function project(tenant: string, token: TokenDocument): TokenProjection {
  return { id: token.id, hash: token.hash, scopes: token.scopes, tenant, ver: token.ver };
}

/** Never replaces a newer version: two replicas may project the same token at once. */
async function put(bucket: Bucket, token: TokenProjection): Promise<number | undefined> {
  const key = keyOf(token.tenant, token.id);
  const bytes = Buffer.from(JSON.stringify(token));
  for (;;) {
    const present = await bucket.get(key);
    if (present?.value && TokenProjection.parse(JSON.parse(Buffer.from(present.value).toString())).ver >= token.ver)
      return present.revision;
    const revision = await bucket.update(key, bytes, present?.revision ?? 0);
    if (revision !== undefined) return revision;
  }
}

async function* allTokens(tokens: Collection<TokenDocument>): AsyncGenerator<TokenDocument & { tenant: string }> {
  let cursor: string | undefined;
  do {
    const page = await tokens.system().find({}, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

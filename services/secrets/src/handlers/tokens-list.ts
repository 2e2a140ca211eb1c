import type { Handler } from '@switchyard/bus';
import type { Collection } from '@switchyard/store';
import type { TokenDocument } from '../data.ts';

const MOST = 10_000;

/** Ids and scopes; a secret is never listed. */
export function tokensList(tokens: Collection<TokenDocument>): Handler<'tokens.list'> {
  return async (_, ctx) => {
    const { items } = await tokens.for(ctx.principal).find({}, { sort: [['createdAt', 'asc']], limit: MOST });
    return { tokens: items.map(({ id, scopes, createdAt }) => ({ id, scopes, createdAt: new Date(createdAt).toISOString() })) };
  };
}

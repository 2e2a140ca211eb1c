import type { Handler } from '@switchyard/bus';
import type { LiveToken, TokenData } from '../data.ts';
import { liveTokens } from '../tokens/live-tokens.ts';
import { grantOf } from '../tokens/rules.ts';

const MOST = 10_000;

/** What a token may do and where it is declared; a secret is never listed. */
export function tokensList({ tokens }: TokenData): Handler<'tokens.list'> {
  return async (_, ctx) => {
    const listed: ReturnType<typeof shown>[] = [];
    for await (const token of liveTokens(tokens.for(ctx.principal))) if (listed.push(shown(token)) === MOST) break;
    return { tokens: listed };
  };
}

function shown(token: LiveToken) {
  const { id, createdAt, declared } = token;
  return { id, ...grantOf(token), createdAt: new Date(createdAt).toISOString(), ...(declared === undefined ? {} : { declared }) };
}

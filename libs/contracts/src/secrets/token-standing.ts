import { z } from 'zod';
import { SpendLimits } from '../config/spend-limits.ts';
import { defineOperations, ORDERING_SERVICES } from '../definition/define.ts';
import { AllowedAgents, Scopes, SessionAccess } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** The rights of a client at the time when its work was stored. */
export const StoredPrincipal = z.strictObject({
  client: boundedString(MAX.name),
  scopes: Scopes,
  sessions: SessionAccess.optional(),
  agents: AllowedAgents.optional(),
  budgets: SpendLimits.optional(),
});
export type StoredPrincipal = z.infer<typeof StoredPrincipal>;

const Standing = z.discriminatedUnion('state', [
  z.object({ state: z.literal('current') }),
  z.object({ state: z.literal('gone').describe('the token was revoked, has expired or never existed') }),
  z.object({
    state: z.literal('narrowed'),
    rights: z
      .array(z.enum(['scopes', 'sessions', 'agents', 'budgets']))
      .max(MAX.words)
      .describe('rights that the token no longer has'),
  }),
]);
export type TokenStanding = z.infer<typeof Standing>;

/** How services check the rights of work that a client left with them. */
export const tokenStandingOperations = defineOperations({
  'tokens.standing': {
    summary: 'Compares stored principals with the tokens of their clients. Work of a token that is gone or narrowed must not run.',
    callers: ORDERING_SERVICES,
    params: z.strictObject({ principals: z.array(StoredPrincipal).min(1).max(MAX.few) }),
    result: z.object({ standings: z.array(Standing).max(MAX.few).describe('in the order of the principals') }),
    blobs: ['principals'],
    idempotent: true,
    reads: true,
  },
});

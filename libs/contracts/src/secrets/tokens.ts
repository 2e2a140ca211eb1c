import { z } from 'zod';
import { HeldToAgents, IsoTime, Scopes, SessionsOf, TokenId, TokenTenant } from '../common.ts';
import { defineMethods } from '../define.ts';
import { McpClient } from '../config/mcp-client.ts';
import { SpendLimits } from '../config/spend-limits.ts';
import { MAX, upTo } from '../sizes.ts';

/** A bearer token as it may be shown: never its secret. */
export const GatewayToken = z.object({
  id: TokenId,
  scopes: Scopes,
  createdAt: IsoTime,
  sessions: SessionsOf.describe('whose sessions it may read and write'),
  lenient: z.boolean().describe('whether /v1 passes over fields that mean nothing here'),
  budgets: SpendLimits.optional(),
  mcpClient: McpClient.optional().describe('what it may do at /mcp, of the scope mcp-client'),
  agents: HeldToAgents.optional(),
  expiresAt: IsoTime.optional().describe('from then on it opens nothing; without it, it never ends by itself'),
  declared: upTo(MAX.url).optional().describe('the variable, or the file and the key, that declares it; it is changed there'),
});

const Secret = upTo(MAX.name).describe('the whole bearer token; shown in this answer and never again');
const byId = z.strictObject({ id: TokenId, tenant: TokenTenant.optional() });
/** Ten years. */
const LONGEST_MS = 315_576_000_000;
const SECRET_EXAMPLE = 'sy_pat_4fT0mUq2Zs_8KxY1bNcVdGh3JkLmNpQrStUvWxYz5A7B9CdEfGhIjKlMnOp2QrS1tUv';

export const tokensMethods = defineMethods({
  'tokens.list': {
    summary: 'Lists the live tokens of the tenant, without their secrets.',
    scope: 'admin',
    params: z.strictObject({ tenant: TokenTenant.optional() }),
    result: z.object({ tokens: z.array(GatewayToken).max(MAX.all) }),
    blobs: ['tokens'],
    idempotent: true,
    examples: [
      {
        params: {},
        result: {
          tokens: [
            {
              id: 'env',
              scopes: ['*'],
              createdAt: '2025-11-21T09:00:00.000Z',
              sessions: 'tenant',
              lenient: false,
              declared: 'SWITCHYARD_TOKEN',
            },
            { id: 'laptop', scopes: ['rpc'], createdAt: '2025-11-21T10:00:00.000Z', sessions: 'own', lenient: false },
          ],
        },
      },
    ],
  },
  'tokens.create': {
    summary: 'Mints a token and shows its secret, this once.',
    description:
      'Nobody grants more than they hold: neither a scope, nor the sessions of the tenant; and a token with budgets makes no other. ' +
      'A token that expires makes none that outlives it. With a tenant, it is a token of that one, which is there from then on. ' +
      'The scope mcp-client stands alone, and whoever administers is not held to agents. ' +
      'A token made under the id of one that was revoked is another client.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject({
      id: TokenId,
      scopes: Scopes,
      sessions: SessionsOf.default('tenant').describe('own: it reads, writes and lists only sessions that it made'),
      lenient: z.boolean().default(false).describe('whether /v1 passes over fields that mean nothing here'),
      budgets: SpendLimits.optional(),
      agents: HeldToAgents.optional(),
      expiresAt: z.iso.datetime({ offset: true }).max(MAX.id).optional().describe('the instant from which it opens nothing'),
      ttlMs: z.int().positive().max(LONGEST_MS).optional().describe('the same as a time from now; one of the two'),
      tenant: TokenTenant.optional(),
      mcpClient: McpClient.optional().describe('of the scope mcp-client alone: what it may do at /mcp; without it, nothing'),
    }),
    result: z.object({
      id: TokenId,
      secret: Secret,
      scopes: Scopes,
      createdAt: IsoTime.optional(),
      expiresAt: IsoTime.optional(),
      tenant: upTo(MAX.id).optional().describe('of a token that was made for another tenant'),
      message: upTo(MAX.line).optional(),
    }),
    blobs: ['mcpClient'],
    sealed: ['secret'],
    errors: ['ALREADY_EXISTS', 'FAILED_PRECONDITION', 'PERMISSION_DENIED'],
    emits: ['audit:event'],
    examples: [
      {
        params: { id: 'laptop', scopes: ['rpc'] },
        result: { id: 'laptop', secret: SECRET_EXAMPLE, scopes: ['rpc'], createdAt: '2025-11-21T10:00:00.000Z' },
      },
      {
        params: { id: 'contractor', scopes: ['rpc'], sessions: 'own', agents: ['oslo'], ttlMs: 86_400_000 },
        result: {
          id: 'contractor',
          secret: SECRET_EXAMPLE,
          scopes: ['rpc'],
          createdAt: '2025-11-21T10:00:00.000Z',
          expiresAt: '2025-11-22T10:00:00.000Z',
        },
      },
      {
        params: { id: 'editor', scopes: ['mcp-client'], mcpClient: { allowlist: ['agent_default', 'memory_search'] } },
        result: { id: 'editor', secret: SECRET_EXAMPLE, scopes: ['mcp-client'], createdAt: '2025-11-21T10:00:00.000Z' },
      },
    ],
  },
  'tokens.revoke': {
    summary: 'Ends a token: once this has answered, no live gateway accepts it.',
    description:
      'The caller must hold what the token holds. A token that manages tokens ends only while another lives that could make it ' +
      'again. One that the environment or a file declares is taken out there.',
    scope: 'admin',
    audited: 'destructive',
    params: byId,
    result: z.object({ id: TokenId, revoked: z.literal(true) }),
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'PERMISSION_DENIED'],
    emits: ['audit:event'],
    examples: [{ params: { id: 'laptop' }, result: { id: 'laptop', revoked: true } }],
  },
  'tokens.rotate': {
    summary: 'Gives a token a new secret; the old one is dead at the same instant.',
    description:
      'Everything else about it stays. The caller must hold what the token holds. One that the environment or a file declares gets ' +
      'its secret there.',
    scope: 'admin',
    audited: 'destructive',
    params: byId,
    result: z.object({ id: TokenId, secret: Secret, scopes: Scopes, rotated: z.literal(true) }),
    sealed: ['secret'],
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'PERMISSION_DENIED'],
    emits: ['audit:event'],
    examples: [{ params: { id: 'laptop' }, result: { id: 'laptop', secret: SECRET_EXAMPLE, scopes: ['rpc'], rotated: true } }],
  },
});

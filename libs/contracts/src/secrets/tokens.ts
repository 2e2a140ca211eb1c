import { z } from 'zod';
import { AllowedAgents, IsoTime, NewTokenId, Scopes, SessionAccess, TokenId, TokenTenant } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { McpClient } from '../config/mcp-client.ts';
import { SpendLimits } from '../config/spend-limits.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** A bearer token as it may be shown: never its secret. */
export const GatewayToken = z.object({
  id: TokenId,
  scopes: Scopes,
  createdAt: IsoTime,
  sessions: SessionAccess.describe('sessions that the token may read and write'),
  lenient: z.boolean().describe('whether /v1 ignores unsupported fields'),
  budgets: SpendLimits.optional(),
  mcpClient: McpClient.optional().describe('permissions at /mcp, for scope mcp-client'),
  agents: AllowedAgents.optional(),
  expiresAt: IsoTime.optional().describe('expiry time; default: none'),
  declared: boundedString(MAX.url).optional().describe('variable, or file and key, that declares the token'),
});

const Secret = boundedString(MAX.name).describe('the bearer token; returned only once');
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
    summary: 'Creates a token and returns its secret once.',
    description:
      'The caller cannot grant scopes or sessions that it lacks, and a token with budgets cannot create tokens. ' +
      'A token that expires cannot create one that expires later. tenant creates the first token of another tenant. ' +
      'The scope mcp-client cannot be combined, and admin tokens cannot be restricted to agents. ' +
      'A token with the id of a revoked one is a new client.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject({
      id: NewTokenId,
      scopes: Scopes,
      sessions: SessionAccess.default('tenant').describe('own: restricted to sessions that the token created'),
      lenient: z.boolean().default(false).describe('whether /v1 ignores unsupported fields'),
      budgets: SpendLimits.optional(),
      agents: AllowedAgents.optional(),
      expiresAt: z.iso.datetime({ offset: true }).max(MAX.id).optional().describe('expiry time'),
      ttlMs: z.int().positive().max(LONGEST_MS).optional().describe('expiry as a duration from now; alternative to expiresAt'),
      tenant: TokenTenant.optional(),
      mcpClient: McpClient.optional().describe('permissions at /mcp, only with scope mcp-client; default: none'),
    }),
    result: z.object({
      id: TokenId,
      secret: Secret,
      scopes: Scopes,
      createdAt: IsoTime.optional(),
      expiresAt: IsoTime.optional(),
      tenant: boundedString(MAX.id).optional().describe('tenant, if the token was created for another one'),
      message: boundedString(MAX.line).optional(),
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
    summary: 'Revokes a token: after the response no live gateway accepts it.',
    description:
      'The caller needs the scopes of the token. The last token that manages tokens cannot be revoked. ' +
      'A token declared in the environment or a file must be removed there.',
    scope: 'admin',
    audited: 'destructive',
    params: byId,
    result: z.object({ id: TokenId, revoked: z.literal(true) }),
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'PERMISSION_DENIED'],
    emits: ['audit:event'],
    examples: [{ params: { id: 'laptop' }, result: { id: 'laptop', revoked: true } }],
  },
  'tokens.rotate': {
    summary: 'Replaces the secret of a token; the old one is invalid immediately.',
    description:
      'All other fields are kept. The caller needs the scopes of the token. The secret of a token declared in the environment or a ' +
      'file must be changed there.',
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

import { z } from 'zod';
import { IsoTime, NoParams, Scopes, TokenId } from '../common.ts';
import { defineMethods } from '../define.ts';
import { MAX } from '../sizes.ts';

/** A bearer token as it may be shown: never its secret. */
export const GatewayToken = z.object({ id: TokenId, scopes: Scopes, createdAt: IsoTime });

const Secret = z.string().max(MAX.name).describe('the whole bearer token; shown in this answer and never again');
const byId = z.strictObject({ id: TokenId });
const SECRET_EXAMPLE = 'sy_pat_4fT0mUq2Zs_8KxY1bNcVdGh3JkLmNpQrStUvWxYz5A7B9CdEfGhIjKlMnOp2QrS1tUv';

export const tokensMethods = defineMethods({
  'tokens.list': {
    summary: 'Lists the live tokens of the tenant, without their secrets.',
    scope: 'admin',
    params: NoParams,
    result: z.object({ tokens: z.array(GatewayToken).max(MAX.all) }),
    idempotent: true,
    examples: [{ params: {}, result: { tokens: [{ id: 'laptop', scopes: ['rpc'], createdAt: '2025-11-21T10:00:00.000Z' }] } }],
  },
  'tokens.create': {
    summary: 'Mints a token and shows its secret, this once.',
    description: 'Nobody grants more than they hold. The scope mcp-client stands alone.',
    scope: 'admin',
    params: z.strictObject({ id: TokenId, scopes: Scopes }),
    result: z.object({
      id: TokenId,
      secret: Secret,
      scopes: Scopes,
      createdAt: IsoTime.optional(),
      message: z.string().max(MAX.line).optional(),
    }),
    errors: ['ALREADY_EXISTS', 'PERMISSION_DENIED'],
    emits: ['audit:event'],
    examples: [
      {
        params: { id: 'laptop', scopes: ['rpc'] },
        result: { id: 'laptop', secret: SECRET_EXAMPLE, scopes: ['rpc'], createdAt: '2025-11-21T10:00:00.000Z' },
      },
    ],
  },
  'tokens.revoke': {
    summary: 'Ends a token: once this has answered, no live gateway accepts it.',
    scope: 'admin',
    params: byId,
    result: z.object({ id: TokenId, revoked: z.literal(true) }),
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    emits: ['audit:event'],
    examples: [{ params: { id: 'laptop' }, result: { id: 'laptop', revoked: true } }],
  },
  'tokens.rotate': {
    summary: 'Gives a token a new secret; the old one is dead at the same instant.',
    description: 'Id and scopes stay. The caller must hold the scopes of the token.',
    scope: 'admin',
    params: byId,
    result: z.object({ id: TokenId, secret: Secret, scopes: Scopes, rotated: z.literal(true) }),
    errors: ['NOT_FOUND', 'PERMISSION_DENIED'],
    emits: ['audit:event'],
    examples: [{ params: { id: 'laptop' }, result: { id: 'laptop', secret: SECRET_EXAMPLE, scopes: ['rpc'], rotated: true } }],
  },
});

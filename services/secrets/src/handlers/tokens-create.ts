import type { Handler } from '@switchyard/bus';
import { invalidParams, ServiceError } from '@switchyard/contracts';
import { hashToken, mintToken } from '@switchyard/security';
import { ENVIRONMENT_TOKEN } from '../tokens/token-declarations.ts';
import { insertToken } from '../tokens/insert-token.ts';
import { getCallerExpiry } from '../tokens/caller-expiry.ts';
import {
  checkGrant,
  findContradiction,
  readGrant,
  rejectLimitedCaller,
  rejectLongerLifetime,
  type TokenGrant,
} from '../tokens/grant-rules.ts';
import { resolveTenant } from '../tokens/target-tenant.ts';
import type { TokenDeps } from '../tokens/token-deps.ts';

/** Creates a token. The secret is only in this answer. */
export function tokensCreate(deps: TokenDeps): Handler<'tokens.create'> {
  const { tokens, store, projector, tenantId } = deps;
  return async ({ id, tenant: requestedTenant, ...params }, { principal, log }) => {
    rejectLimitedCaller(principal);
    const tenant = resolveTenant(principal, requestedTenant, tenantId);
    const grant = parseGrant(params, store.now());
    checkGrant(grant, principal);
    rejectLongerLifetime(grant.expiresAt, await getCallerExpiry(deps, principal));
    const problem = findContradiction(grant);
    if (problem !== undefined) throw new ServiceError('INVALID_ARGUMENT', `Invalid params: ${problem}`);
    if (id === ENVIRONMENT_TOKEN) throw reservedId();
    const { token } = mintToken('pat');
    const created = await insertToken(
      tokens.for({ tenant }),
      { id, hash: hashToken(token), ...grant, createdBy: principal.client },
      store.now(),
    );
    if (!created) throw new ServiceError('ALREADY_EXISTS', `The token ${id} already exists. Rotate it, or choose another id.`);
    log.audit({ client: principal.client, tenant, tokenId: id, ...grant }, 'a token was created');
    await projector.publish(tenant, id);
    const { scopes, expiresAt } = grant;
    return {
      id,
      secret: token,
      scopes,
      createdAt: new Date(created.createdAt).toISOString(),
      ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
      ...(tenant === principal.tenant ? {} : { tenant }),
    };
  };
}

type GrantParams = Omit<ParsedParams, 'id' | 'tenant'>;
type ParsedParams = Parameters<Handler<'tokens.create'>>[0];

function parseGrant({ scopes, sessions, lenient, budgets, agents, mcpClient, ...lifetime }: GrantParams, now: number): TokenGrant {
  return readGrant({ scopes, sessions, lenient, budgets, agents, mcpClient, expiresAt: parseExpiry(lifetime, now) });
}

function parseExpiry({ expiresAt, ttlMs }: Pick<GrantParams, 'expiresAt' | 'ttlMs'>, now: number): number | undefined {
  if (expiresAt === undefined) return ttlMs === undefined ? undefined : now + ttlMs;
  if (ttlMs !== undefined) throw wrongField('ttlMs', 'nothing beside expiresAt', 'both');
  const end = Date.parse(expiresAt);
  if (end <= now) throw wrongField('expiresAt', 'an instant in the future', 'one in the past');
  return end;
}

function wrongField(path: string, expected: string, received: string): ServiceError {
  return invalidParams([{ path, expected, received, message: `${path}: expected ${expected}, got ${received}` }]);
}

/** A client with this id could lock the operator out. */
function reservedId(): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The id ${ENVIRONMENT_TOKEN} is reserved for SWITCHYARD_TOKEN. Choose another id.`, {
    details: { reason: 'RESERVED' },
  });
}

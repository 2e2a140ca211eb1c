import type { Handler } from '@switchyard/bus';
import { invalidParams, ServiceError } from '@switchyard/contracts';
import { hashToken, mintToken } from '@switchyard/security';
import { ENVIRONMENT_TOKEN } from '../tokens/token-declarations.ts';
import { makeToken } from '../tokens/insert-token.ts';
import { ownExpiry } from '../tokens/caller-expiry.ts';
import { checkGrant, contradiction, grantOf, refuseLimited, refuseOutliving, type Granted } from '../tokens/grant-rules.ts';
import { tenantMeant } from '../tokens/target-tenant.ts';
import type { TokensGiven } from '../tokens/token-deps.ts';

/** Creates a token. The secret is only in this answer. */
export function tokensCreate(given: TokensGiven): Handler<'tokens.create'> {
  const { tokens, store, projector, tenantId } = given;
  return async ({ id, tenant: asked, ...wanted }, { principal, log }) => {
    refuseLimited(principal);
    const tenant = tenantMeant(principal, asked, tenantId);
    const granted = grantedBy(wanted, store.now());
    checkGrant(granted, principal);
    refuseOutliving(granted.expiresAt, await ownExpiry(given, principal));
    const wrong = contradiction(granted);
    if (wrong !== undefined) throw new ServiceError('INVALID_ARGUMENT', `Invalid params: ${wrong}`);
    if (id === ENVIRONMENT_TOKEN) throw reserved();
    const { token } = mintToken('pat');
    const made = await makeToken(
      tokens.for({ tenant }),
      { id, hash: hashToken(token), ...granted, createdBy: principal.client },
      store.now(),
    );
    if (!made) throw new ServiceError('ALREADY_EXISTS', `The token ${id} already exists. Rotate it, or choose another id.`);
    log.audit({ client: principal.client, tenant, tokenId: id, ...granted }, 'a token was created');
    await projector.publish(tenant, id);
    const { scopes, expiresAt } = granted;
    return {
      id,
      secret: token,
      scopes,
      createdAt: new Date(made.createdAt).toISOString(),
      ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
      ...(tenant === principal.tenant ? {} : { tenant }),
    };
  };
}

type Wanted = Omit<ParsedParams, 'id' | 'tenant'>;
type ParsedParams = Parameters<Handler<'tokens.create'>>[0];

function grantedBy({ scopes, sessions, lenient, budgets, agents, mcpClient, ...lifetime }: Wanted, now: number): Granted {
  return grantOf({ scopes, sessions, lenient, budgets, agents, mcpClient, expiresAt: endOf(lifetime, now) });
}

function endOf({ expiresAt, ttlMs }: Pick<Wanted, 'expiresAt' | 'ttlMs'>, now: number): number | undefined {
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
function reserved(): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The id ${ENVIRONMENT_TOKEN} is reserved for SWITCHYARD_TOKEN. Choose another id.`, {
    details: { reason: 'RESERVED' },
  });
}

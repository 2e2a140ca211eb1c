import { ServiceError, type Principal } from '@switchyard/contracts';

/** The tenant whose tokens are managed. Only full-access tokens of the installation's tenant may name another tenant. */
export function resolveTenant(principal: Principal, requested: string | undefined, installationTenant: string): string {
  if (requested === undefined || requested === principal.tenant) return principal.tenant;
  if (principal.tenant === installationTenant && hasFullAccess(principal)) return requested;
  throw new ServiceError(
    'PERMISSION_DENIED',
    'Only a full-access token of the installation tenant may manage tokens of another tenant. Omit "tenant" to manage your own.',
    { details: { reason: 'OTHER_TENANT' } },
  );
}

function hasFullAccess({ scopes, sessions, budgets, agents }: Principal): boolean {
  return scopes.includes('*') && sessions !== 'own' && budgets === undefined && agents === undefined;
}

import { ServiceError, type Principal } from '@switchyard/contracts';

/** Whose tokens are meant: the caller's tenant's, or another's where the caller may do everything in the tenant of the installation. */
export function tenantMeant(principal: Principal, asked: string | undefined, operators: string): string {
  if (asked === undefined || asked === principal.tenant) return principal.tenant;
  if (principal.tenant === operators && mayDoEverything(principal)) return asked;
  throw new ServiceError(
    'PERMISSION_DENIED',
    `Tokens of another tenant belong to whoever may do everything in the tenant of the installation; leave "tenant" away for those of your own.`,
    { details: { reason: 'OTHER_TENANT' } },
  );
}

function mayDoEverything({ scopes, sessions, budgets, agents }: Principal): boolean {
  return scopes.includes('*') && sessions !== 'own' && budgets === undefined && agents === undefined;
}

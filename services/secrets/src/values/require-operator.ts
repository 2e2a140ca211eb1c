import { ServiceError, type Principal } from '@switchyard/contracts';

/** Secrets are shared by all tenants. Only the tenant of the installation may list and set them. */
export function requireOperator({ tenant }: Principal, tenantId: string): void {
  if (tenant === tenantId) return;
  throw new ServiceError('PERMISSION_DENIED', 'Secrets can be managed only by tokens of the installation tenant.', {
    details: { reason: 'OTHER_TENANT' },
  });
}

import { ServiceError, type Principal } from '@switchyard/contracts';

/** What is set is everybody's, so that only those of the tenant that the installation belongs to look at it and change it. */
export function requireOperator({ tenant }: Principal, tenantId: string): void {
  if (tenant === tenantId) return;
  throw new ServiceError('PERMISSION_DENIED', 'secrets belong to the tenant of the installation, which this token is not of', {
    details: { reason: 'OTHER_TENANT' },
  });
}

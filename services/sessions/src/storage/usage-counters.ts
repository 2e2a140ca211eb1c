/** Id of the counter of a tenant. */
export const TENANT_ID = 'tenant';

/** Id of the counter of a client. */
export function clientId(client: string): string {
  return `client ${client}`;
}

import { DEFAULT_TENANT, type Principal } from '@switchyard/contracts';

/** A caller; unless said, the client `test` of the default tenant with every scope. */
export function principal(fields: Partial<Principal> = {}): Principal {
  return { tenant: DEFAULT_TENANT, client: 'test', scopes: ['*'], ...fields };
}

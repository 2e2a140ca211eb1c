import { DEFAULT_TENANT, type Principal } from '@switchyard/contracts';

/** Returns a principal: by default the client `test` of the default tenant with all scopes. */
export function principal(fields: Partial<Principal> = {}): Principal {
  return { tenant: DEFAULT_TENANT, client: 'test', scopes: ['*'], ...fields };
}

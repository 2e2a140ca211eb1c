import type { Principal } from '@switchyard/contracts';

/** The client of all stories. */
export const principal: Principal = { tenant: 'default', client: 'alice', scopes: ['*'] };

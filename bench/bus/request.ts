import type { Params } from '@switchyard/contracts';

/** The request of the benchmark, equal for all frameworks. */
export const REQUEST: Params<'secrets.resolve'> = {
  name: 'NAME',
  to: { service: 'sessions', key: 'A'.repeat(43), nonce: 'n'.repeat(22) },
};

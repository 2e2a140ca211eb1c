import type { Params } from '@switchyard/contracts';

/** What both sides are asked, again and again. */
export const ASKED: Params<'secrets.resolve'> = {
  name: 'NAME',
  to: { service: 'sessions', key: 'A'.repeat(43), nonce: 'n'.repeat(22) },
};

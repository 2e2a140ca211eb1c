import type { Store } from '@switchyard/store';
import type { TokenData } from '../documents/collections.ts';
import type { TokenProjector } from './token-projector.ts';

export interface TokenDeps extends TokenData {
  store: Pick<Store, 'now'>;
  projector: TokenProjector;
  /** The tenant of the installation. */
  tenantId: string;
}

import type { Operations } from './connection/operations.ts';
import type { MongoOutbox } from './outbox-storage.ts';

/** State that all documents of a database share. */
export interface Session extends Pick<Operations, 'run' | 'runInOrder'> {
  outbox: MongoOutbox;
  /** Rejects cross-tenant queries without an index. */
  strict: boolean;
}

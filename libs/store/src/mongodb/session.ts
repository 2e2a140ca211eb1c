import type { Operations } from './connection/operations.ts';
import type { MongoOutbox } from './outbox-storage.ts';

/** What the documents of one database share. */
export interface Session extends Pick<Operations, 'run' | 'runInOrder'> {
  outbox: MongoOutbox;
  /** Refuses queries that no index serves. */
  strict: boolean;
}

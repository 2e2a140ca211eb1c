import type { Operations } from './connection/operations.ts';
import type { MongoLedger } from './outbox-storage.ts';

/** What the documents of one database share. */
export interface Session extends Pick<Operations, 'run' | 'inLane'> {
  ledger: MongoLedger;
  /** Refuses queries that no index serves. */
  strict: boolean;
}

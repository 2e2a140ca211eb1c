import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Lease, LeaseTiming } from './lease.ts';
import type { AnyWork, RoomOptions } from './rooms.ts';
import type { Outcome } from './work-document.ts';

export interface WorkOptions<D extends AnyWork> {
  documents: Collection<D>;
  /** Limits that documents share. By default only the capacity limits them. */
  rooms?: RoomOptions<D>;
  /** Name of this replica. */
  owner: string;
  /** The database's clock: `store.now`. */
  now: () => number;
  /** Documents that run at once on this replica, besides those that were added with `runHere`. */
  capacity: () => number;
  run: (lease: Lease<D>) => Promise<Outcome<D>>;
  poison: { maxAttempts: number; outcome: (document: D) => Outcome<D> };
  timing?: LeaseTiming;
  /** Time that running documents get to end at disposal before they are released; none by default. */
  drainMs?: number;
  clock?: Clock;
  log?: { warn(fields: object, message: string): void };
}

import type { Bus } from '@switchyard/bus';
import { MAX, type Principal, type ServiceName } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { AnyWork } from './rooms.ts';
import type { Work } from './work.ts';

/** Delay of a sweep after a wake-up, so that a burst of ends costs one sweep. */
const WAKE_DELAY_MS = 100;

/** Work that has ordered a turn and is parked until the turn ends. */
export interface TurnWork extends AnyWork {
  turnId?: string | undefined;
  /** Set while the turn has not ended. The collection has a sparse index on it across tenants. */
  turnPending?: true | undefined;
}

export interface TurnWaiters<D extends TurnWork> {
  documents: Collection<D>;
  work: Pick<Work<D>, 'wake' | 'startDue'>;
  /** The client of the turn, because a client follows only its own turns. */
  getClient: (document: D & { tenant: string }) => Principal;
}

export interface TurnEndSweepDeps {
  /** The service that ordered the turns. The sessions service wakes it when one of them ends. */
  service: ServiceName;
  bus: Bus;
  clock: Pick<Clock, 'after'>;
  log: { warn(fields: object, message: string): void };
  /** One sweep for each collection. One subscription serves all, because a wake-up reaches only one subscription. */
  sweeps: readonly (() => Promise<void>)[];
}

/** Sweeps after the sessions service has woken this service. A lost wake-up only delays work until it asks by itself. */
export function startTurnEndSweep({ service, bus, clock, log, sweeps }: TurnEndSweepDeps): Disposable {
  let cancelTimer: (() => void) | undefined;
  let running = Promise.resolve();
  let closed = false;
  const onFailure = (err: unknown): void => {
    if (!closed) log.warn({ err, errorKind: 'dependency', hint: 'the work asks again by itself' }, 'failed to check the turns of work');
  };
  async function sweepAll(): Promise<void> {
    if (!closed) await Promise.all(sweeps.map((sweep) => sweep().catch(onFailure)));
  }
  const subscription = bus.onWake(service, () => {
    cancelTimer ??= clock.after(WAKE_DELAY_MS, () => {
      cancelTimer = undefined;
      running = running.then(sweepAll);
    });
  });
  return {
    [Symbol.dispose]() {
      closed = true;
      cancelTimer?.();
      subscription.unsubscribe();
    },
  };
}

/** Wakes the documents of a collection whose turns have ended. */
export async function wakeEndedTurns<D extends TurnWork>(bus: Bus, waiters: TurnWaiters<D>): Promise<void> {
  const { documents, work, getClient } = waiters as unknown as TurnWaiters<TurnWork>;
  const { key } = documents;
  let cursor: string | undefined;
  do {
    const page = await documents.system().find({ turnPending: true }, { limit: MAX.many, ...(cursor === undefined ? {} : { cursor }) });
    const byClient = Map.groupBy(page.items, (document) => JSON.stringify(getClient(document)));
    for (const batch of [...byClient.values()].flatMap(splitBatch)) {
      const [first] = batch;
      const turnIds = batch.flatMap(({ turnId }) => turnId ?? []);
      if (!first || turnIds.length === 0) continue;
      const { turns } = await bus.as(getClient(first)).call('turns.ends', { turnIds });
      const open = new Set(turns.filter(({ state }) => state === 'queued' || state === 'running').map(({ turnId }) => turnId));
      for (const document of batch)
        if (document.turnId !== undefined && !open.has(document.turnId))
          await work.wake(document.tenant, String(document[key as keyof TurnWork]), {}, { turnPending: true });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  work.startDue();
}

function splitBatch<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / MAX.few) }, (_, at) => items.slice(at * MAX.few, (at + 1) * MAX.few));
}

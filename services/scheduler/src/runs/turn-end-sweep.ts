import type { Bus } from '@switchyard/bus';
import { MAX } from '@switchyard/contracts';
import { toPrincipal, type Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Work } from '@switchyard/work';
import type { RunDocument } from '../documents/collections.ts';

/** Delay of a sweep after a wake-up, so that a burst of ends costs one sweep. */
const WAKE_DELAY_MS = 100;

export interface TurnEndSweepDeps {
  runs: Collection<RunDocument>;
  runWork: Pick<Work<RunDocument>, 'wake' | 'poll'>;
  bus: Bus;
  clock: Pick<Clock, 'after'>;
  log: { warn(fields: object, message: string): void };
  /** Called on each wake-up. One subscription serves the whole service, because a wake-up reaches only one. */
  onWake: () => void;
}

/** Wakes the runs whose turns have ended, after the sessions service has woken this service. A lost wake-up only delays a run. */
export function startTurnEndSweep(deps: TurnEndSweepDeps): Disposable {
  const { bus, clock, log } = deps;
  let cancelTimer: (() => void) | undefined;
  const onFailure = (err: unknown): void =>
    log.warn({ err, errorKind: 'dependency', hint: 'each run asks again by itself' }, 'failed to check the turns of runs');
  const subscription = bus.onWake('scheduler', () => {
    deps.onWake();
    cancelTimer ??= clock.after(WAKE_DELAY_MS, () => {
      cancelTimer = undefined;
      void sweepTurnEnds(deps).catch(onFailure);
    });
  });
  return {
    [Symbol.dispose]() {
      cancelTimer?.();
      subscription.unsubscribe();
    },
  };
}

type PendingRun = RunDocument & { tenant: string };

async function sweepTurnEnds(deps: TurnEndSweepDeps): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await deps.runs.system().find({ turnPending: true }, { limit: MAX.many, ...(cursor === undefined ? {} : { cursor }) });
    for (const batch of splitByClient(page.items)) await wakeEnded(deps, batch);
    cursor = page.cursor;
  } while (cursor !== undefined);
  await deps.runWork.poll();
}

/** Groups runs by client, because a client follows only its own turns. */
function splitByClient(runs: readonly PendingRun[]): PendingRun[][] {
  const byClient = Map.groupBy(runs, ({ tenant, principal }) => JSON.stringify([tenant, principal]));
  return [...byClient.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / MAX.few) }, (_, at) => group.slice(at * MAX.few, (at + 1) * MAX.few)),
  );
}

async function wakeEnded({ bus, runWork }: TurnEndSweepDeps, batch: readonly PendingRun[]): Promise<void> {
  const [first] = batch;
  if (!first) return;
  const turnIds = batch.flatMap(({ turnId }) => (turnId === undefined ? [] : [turnId]));
  const { turns } = await bus.as(toPrincipal(first.tenant, first.principal)).call('turns.ends', { turnIds });
  const running = new Set(turns.filter(({ state }) => state === 'queued' || state === 'running').map(({ turnId }) => turnId));
  for (const { tenant, runId, turnId } of batch)
    if (turnId !== undefined && !running.has(turnId)) await runWork.wake(tenant, runId, {}, { turnPending: true });
}

import type { Bus } from '@switchyard/bus';
import { MAX } from '@switchyard/contracts';
import { toPrincipal } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Work } from '@switchyard/work';
import type { StepDocument } from '../documents/collections.ts';

export interface StepEndSweepDeps {
  steps: Collection<StepDocument>;
  stepWork: Pick<Work<StepDocument>, 'wake' | 'startDue'>;
  /** Ids of the steps whose turns are awaited by this replica. */
  awaited: ReadonlySet<string>;
  bus: Bus;
  log: { warn(fields: object, message: string): void };
}

export interface StepEndSweep extends Disposable {
  /** Counts the wake-ups of this replica. */
  countWakes(): number;
}

/** Wakes the steps whose turns have ended, after the sessions service has woken this service. A lost wake-up only delays a step. */
export function startStepEndSweep(deps: StepEndSweepDeps): StepEndSweep {
  const { bus, log } = deps;
  let wakes = 0;
  let sweeping = false;
  let again = false;
  let closed = false;

  /** Wake-ups during a sweep share one more sweep. */
  async function sweep(): Promise<void> {
    again = true;
    if (sweeping) return;
    sweeping = true;
    try {
      while (again && !closed) {
        again = false;
        await sweepStepEnds(deps);
      }
    } catch (err) {
      log.warn({ err, errorKind: 'dependency', hint: 'each step asks again by itself' }, 'failed to check the turns of graph steps');
    } finally {
      sweeping = false;
    }
  }
  const subscription = bus.onWake('graph', () => {
    wakes += 1;
    void sweep();
  });
  return {
    countWakes: () => wakes,
    [Symbol.dispose]() {
      closed = true;
      subscription.unsubscribe();
    },
  };
}

type PendingStep = StepDocument & { tenant: string };

async function sweepStepEnds(deps: StepEndSweepDeps): Promise<void> {
  let cursor: string | undefined;
  let woken = 0;
  do {
    const page = await deps.steps.system().find({ turnPending: true }, { limit: MAX.many, ...(cursor === undefined ? {} : { cursor }) });
    for (const batch of splitByClient(page.items.filter(({ stepId }) => !deps.awaited.has(stepId)))) woken += await wakeEnded(deps, batch);
    cursor = page.cursor;
  } while (cursor !== undefined);
  if (woken > 0) deps.stepWork.startDue();
}

/** Groups steps by client, because a client follows only its own turns. */
function splitByClient(steps: readonly PendingStep[]): PendingStep[][] {
  const byClient = Map.groupBy(steps, ({ tenant, principal }) => JSON.stringify([tenant, principal]));
  return [...byClient.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / MAX.few) }, (_, at) => group.slice(at * MAX.few, (at + 1) * MAX.few)),
  );
}

/** Wakes the steps of a batch that have ended, and returns their number. */
async function wakeEnded({ bus, stepWork }: StepEndSweepDeps, batch: readonly PendingStep[]): Promise<number> {
  const [first] = batch;
  if (!first) return 0;
  const turnIds = batch.flatMap(({ turnId }) => turnId ?? []);
  const requestIds = batch.flatMap(({ requestId }) => requestId ?? []);
  const caller = bus.as(toPrincipal(first.tenant, first.principal));
  const [turns, requests] = await Promise.all([
    turnIds.length === 0 ? [] : caller.call('turns.ends', { turnIds }).then((ends) => ends.turns),
    requestIds.length === 0 ? [] : caller.call('approvals.verdicts', { requestIds }).then((verdicts) => verdicts.requests),
  ]);
  const open = new Set([
    ...turns.filter(({ state }) => state === 'queued' || state === 'running').map(({ turnId }) => turnId),
    ...requests.filter(({ state }) => state === 'pending').map(({ requestId }) => requestId),
  ]);
  const ended = batch.filter(({ turnId, requestId }) => !open.has(turnId ?? requestId ?? ''));
  for (const { tenant, stepId } of ended) await stepWork.wake(tenant, stepId, {}, { turnPending: true });
  return ended.length;
}

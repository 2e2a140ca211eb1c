import { subjects, TurnFrame, TURNS_LOG, type ServiceError, type TurnFailure } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Lease } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { TurnDocument } from '../data.ts';
import { commitFailure, settle, toFailure, type Ledger } from './commit.ts';
import { createFrameWriter } from './frames.ts';
import { logFailedTurn } from './log-failed-turn.ts';
import { noteEnd } from './turn-metrics.ts';

/** Ends a claimed turn that is not going to run, and tells its readers. */
export async function endWithout(
  deps: Ledger & { bus: Bus; log: Logger },
  lease: Lease<TurnDocument>,
  error: ServiceError,
): Promise<TurnFailure> {
  const { turnId } = lease.document;
  const frames = createFrameWriter(deps.bus, turnId, Math.max(1, await framesSoFar(deps.bus, turnId)));
  try {
    const failure = toFailure(error, lease.document);
    const turn = await commitFailure(deps, lease, { failure, lastFrame: frames.last() });
    logFailedTurn(deps.log, lease.tenant, { turn, error });
    noteEnd('durable', failure, deps.store.now() - turn.createdAt);
    await settle(deps, lease.tenant, turn);
    frames.push({ type: 'error', error: failure });
    return failure;
  } finally {
    frames.close();
  }
}

/** How many frames of a turn the log has seen; whoever goes on with the turn goes on with the next number. */
export async function framesSoFar(bus: Bus, turnId: string): Promise<number> {
  const kept = await (await bus.log(TURNS_LOG)).read(subjects.turn(turnId));
  const last = kept.at(-1);
  return last ? TurnFrame.parse(JSON.parse(Buffer.from(last.data).toString())).n + 1 : 0;
}

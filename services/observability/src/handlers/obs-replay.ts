import type { Bus, Handler } from '@switchyard/bus';
import { invalidParams } from '@switchyard/contracts';

/** Records the turn first if it is named by its id. */
export function obsReplay({ bus }: { bus: Pick<Bus, 'as'> }): Handler<'obs.replay'> {
  return async ({ traceId, recording: supplied }, { principal }) => {
    const caller = bus.as(principal);
    if (supplied) return { traceId: supplied.turnId, ...(await caller.call('turns.replay', { recording: supplied })) };
    if (traceId === undefined)
      throw invalidParams([
        { path: 'traceId', expected: 'a turn id', received: 'nothing', message: 'traceId: expected a turn id, got nothing' },
      ]);
    const { recording } = await caller.call('turns.record', { turnId: traceId });
    return { traceId, ...(await caller.call('turns.replay', { recording })), recording };
  };
}

import { subjects } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';

/** Turns that run in this process. A turn that is ended elsewhere is stopped at once. */
export interface RunningTurns extends Disposable {
  /** Calls `stop` when the turn is ended elsewhere. Returns a function that unregisters it. */
  add(turnId: string, stop: () => void): () => void;
  /** Does nothing if the turn does not run here. */
  stop(turnId: string): void;
}

/** Also subscribes to ends published by other replicas. A lost message only costs seconds, because a runner also polls its turn. */
export function createRunningTurns({ bus }: { bus: Pick<Bus, 'subscribe'> }): RunningTurns {
  const stops = new Map<string, () => void>();
  const stop = (turnId: string): void => stops.get(turnId)?.();
  const subscription = bus.subscribe(subjects.turnEnded, ({ data }) => stop(String(JSON.parse(Buffer.from(data).toString()))));
  return {
    add(turnId, stopIt) {
      stops.set(turnId, stopIt);
      return () => {
        if (stops.get(turnId) === stopIt) stops.delete(turnId);
      };
    },
    stop,
    [Symbol.dispose]: () => subscription.unsubscribe(),
  };
}

import { subjects } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';

/** The turns that run in this process, so that one that somebody else has ended stops at once. */
export interface RunningTurns extends Disposable {
  /** From now on `stop` is called when it has ended elsewhere; returns what takes that back. */
  add(turnId: string, stop: () => void): () => void;
  /** Does nothing if the turn does not run here. */
  stop(turnId: string): void;
}

/** Also listens to what other replicas say. A word that is lost costs seconds: a runner looks at its turn now and then. */
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

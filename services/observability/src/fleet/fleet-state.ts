import type { Bus } from '@switchyard/bus';
import type { Principal, Replica } from '@switchyard/contracts';
import type { ReplicaState } from '@switchyard/service-kit';

/** A report does not wait longer for the queues of sessions. */
const QUEUE_TIMEOUT_MS = 2_000;

/** The state of the fleet at the time of a report. */
export interface FleetState {
  /** Replicas that answer; undefined if the bus did not list them. */
  replicas: readonly Replica[] | undefined;
  /** The configuration that each replica has applied. */
  configurations: readonly ReplicaState[];
  /** Turns of the tenant that wait to be run; undefined if sessions did not answer. */
  waitingTurns: number | undefined;
}

export interface FleetStateDeps {
  bus: Pick<Bus, 'as' | 'discover'>;
  configurations: { all(): readonly ReplicaState[] };
}

/** Reads the state of the fleet. The report says what could not be read. */
export async function readFleetState({ bus, configurations }: FleetStateDeps, caller: Principal): Promise<FleetState> {
  const [replicas, waitingTurns] = await Promise.all([
    bus.discover().catch(() => undefined),
    bus
      .as(caller)
      .call('queue.status', {}, { timeoutMs: QUEUE_TIMEOUT_MS })
      .then(({ waiting }) => waiting)
      .catch(() => undefined),
  ]);
  return { replicas, configurations: configurations.all(), waitingTurns };
}

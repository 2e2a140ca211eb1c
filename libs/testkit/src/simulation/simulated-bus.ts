import type { Bus, Message, Subscription } from '@switchyard/bus';
import type { ServiceName } from '@switchyard/contracts';
import type { Process } from './simulation.ts';

/** The bus of a simulation. It delays, drops or repeats messages; messages of one process on a subject stay in order. */
export interface SimulatedBus {
  from(process: Process): Bus;
  /** Listeners that receive each published message without delay. */
  receivedMessages: ((subject: string, data: string, process: Process) => void)[];
  /** Replies to the calls of processes. */
  answer: (name: string, params: unknown, process: Process) => unknown;
}

interface Listener {
  process: Process;
  subject: string;
  onMessage: (message: Message) => void;
}

export function createSimulatedBus(): SimulatedBus {
  const listeners = new Set<Listener>();
  const bells = new Set<{ process: Process; ring: () => void }>();
  const bus: SimulatedBus = { from: (process) => connection(process), receivedMessages: [], answer: () => ({}) };

  function publish(process: Process, subject: string, data: Uint8Array): void {
    for (const hear of bus.receivedMessages) hear(subject, Buffer.from(data).toString(), process);
    const message = { subject, data, reply: undefined, status: undefined, header: () => undefined };
    for (const listener of listeners) {
      if (listener.subject === subject) {
        listener.process.receive(`${subject} ${process.name}`, () => void (listeners.has(listener) && listener.onMessage(message)));
      }
    }
  }

  function subscribe(listener: Listener): Subscription {
    listeners.add(listener);
    const unsubscribe = (): void => void listeners.delete(listener);
    return { unsubscribe, drain: async () => unsubscribe() };
  }

  function connection(process: Process): Bus {
    const verbs = {
      publish: (subject: string, data: Uint8Array) => publish(process, subject, data),
      subscribe: (subject: string, onMessage: (message: Message) => void) => subscribe({ process, subject, onMessage }),
      as: () => verbs,
      emit: () => undefined,
      // Events are not simulated.
      on: () => ({ unsubscribe: () => undefined, drain: async () => undefined }),
      call: (name: string, params: unknown) => process.operation(() => bus.answer(name, params, process)),
      wake(_service: ServiceName) {
        for (const bell of [...bells].slice(0, 1)) bell.process.receive('wake', bell.ring);
      },
      onWake(_service: ServiceName, ring: () => void) {
        const bell = { process, ring };
        bells.add(bell);
        return { unsubscribe: () => void bells.delete(bell), drain: async () => undefined };
      },
    };
    return verbs as unknown as Bus;
  }
  return bus;
}

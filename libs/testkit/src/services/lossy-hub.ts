import { createMemoryHub, type MemoryHub } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { dice } from '../simulation/seeded-random.ts';

export interface LossyHubOptions {
  seed: number;
  /** Probability that a message, an append to a log or its confirmation is lost, from 0 to 1. */
  loss: number;
}

/** A hub that loses events, turn frames and notifications. */
export interface LossyHub extends MemoryHub {
  /** Number of losses by kind. */
  readonly losses: Readonly<Record<'messages' | 'appends' | 'confirmations', number>>;
}

type Log = ReturnType<MemoryHub['log']>;

const LOSSY = /^(?:evt|turn)\.|^ctl\.[^.]+\.(?!cancel$)/;

/**
 * Loses published messages silently. An append fails before or after the log has stored the event. Requests, replies and cancellations
 * arrive, because their sender notices a loss by a timeout.
 */
export function createLossyHub({ seed, loss }: LossyHubOptions): LossyHub {
  const random = dice(seed);
  const hub = createMemoryHub();
  const losses = { messages: 0, appends: 0, confirmations: 0 };
  /** The logs of the hub, by the logs that are handed out. */
  const innerLogs = new Map<Log, Log>();
  const outerLogs = new Map<Log, Log>();

  function loses(kind: keyof typeof losses): boolean {
    const isLost = random.chance(loss);
    if (isLost) losses[kind] += 1;
    return isLost;
  }

  function wrapLog(log: Log): Log {
    return {
      ...log,
      append(message, id) {
        if (loses('appends')) throw unreachable();
        const position = log.append(message, id);
        if (loses('confirmations')) throw unreachable();
        return position;
      },
    };
  }

  return {
    ...hub,
    losses,
    publish(message, storedIn) {
      if (LOSSY.test(message.subject) && loses('messages')) return;
      hub.publish(message, storedIn && innerLogs.get(storedIn));
    },
    log(definition) {
      const inner = hub.log(definition);
      let outer = outerLogs.get(inner);
      if (outer === undefined) {
        outerLogs.set(inner, (outer = wrapLog(inner)));
        innerLogs.set(outer, inner);
      }
      return outer;
    },
  };
}

function unreachable(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'the bus lost the message');
}

import { ServiceError, subjects, type TurnFrame } from '@switchyard/contracts';
import type { Bus, Subscription } from '@switchyard/bus';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { type TurnDocument, hasEnded, type TurnEnd } from '../../model/turn-document.ts';
import { loadText } from '../../model/stored-text.ts';
import type { BodyDocument } from '../../model/text-document.ts';

/** Interval at which the documents of awaited turns are polled, and the batch size. */
const POLL_INTERVAL_MS = 1_000;
const POLL_BATCH_SIZE = 100;

/** Callers that wait for the end of turns on any replica. */
export interface TurnWaiters extends Disposable {
  /** Resolves with the end of a turn. Rejects with CANCELLED only when the signal is aborted. */
  end(tenant: string, turnId: string, waits: WaitOptions): Promise<TurnEnd>;
  /** Notifies the waiters of a turn that ended here. */
  notify(tenant: string, turnId: string, end: TurnEnd): void;
}

export interface WaitOptions {
  signal: AbortSignal;
  /** The turn runs here and its runner notifies waiters. Frames are subscribed only if that takes long. */
  runsHere?: boolean;
}

export interface TurnWaitersDeps {
  bus: Pick<Bus, 'subscribe'>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  clock: Clock;
}

interface Waiter {
  tenant: string;
  turnId: string;
  settle: Set<(end: TurnEnd) => void>;
  listening: Subscription | undefined;
}

/**
 * A waiter is notified by the runner, by a frame, or by polling the turn document, because frames can be lost and reads can fail. All
 * turns of a tenant are polled together.
 */
export function createTurnWaiters(deps: TurnWaitersDeps): TurnWaiters {
  const waiters = new Map<string, Waiter>();
  let stop: (() => void) | undefined;
  let polling = false;

  function tell(tenant: string, turnId: string, end: TurnEnd): void {
    const waiter = waiters.get(`${tenant} ${turnId}`);
    for (const settle of waiter?.settle ?? []) settle(end);
  }

  function poll(): void {
    if (polling) return;
    polling = true;
    for (const waiter of waiters.values()) listen(waiter);
    // A failed poll is repeated at the next interval.
    void pollTurns(deps, waiters, tell)
      .catch(() => undefined)
      .finally(() => (polling = false));
  }

  function listen(waiter: Waiter): void {
    const { tenant, turnId } = waiter;
    waiter.listening ??= deps.bus.subscribe(subjects.turn(turnId), ({ data }) => {
      const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      // Most frames do not end the turn and are not parsed. Quotes inside text are escaped, so the search cannot match there.
      if (!text.includes('"type":"done"') && !text.includes('"type":"error"')) return;
      const frame = JSON.parse(text.toString()) as TurnFrame;
      if (frame.type === 'done') tell(tenant, turnId, { result: frame.result });
      if (frame.type === 'error') tell(tenant, turnId, { failure: frame.error });
    });
  }

  function addWaiter(tenant: string, turnId: string, here: boolean): Waiter {
    const name = `${tenant} ${turnId}`;
    const waiter = waiters.get(name) ?? { tenant, turnId, settle: new Set<(end: TurnEnd) => void>(), listening: undefined };
    waiters.set(name, waiter);
    if (!here) listen(waiter);
    stop ??= deps.clock.every(POLL_INTERVAL_MS, poll);
    return waiter;
  }

  function removeWaiter(waiter: Waiter, settle: (end: TurnEnd) => void): void {
    waiter.settle.delete(settle);
    if (waiter.settle.size > 0) return;
    waiters.delete(`${waiter.tenant} ${waiter.turnId}`);
    waiter.listening?.unsubscribe();
    if (waiters.size > 0) return;
    stop?.();
    stop = undefined;
  }

  return {
    async end(tenant, turnId, { signal, runsHere = false }) {
      const { promise, resolve, reject } = Promise.withResolvers<TurnEnd>();
      const waiter = addWaiter(tenant, turnId, runsHere);
      waiter.settle.add(resolve);
      const onAbort = (): void => reject(new ServiceError('CANCELLED', 'The caller disconnected; the turn continues.'));
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        return await promise;
      } finally {
        signal.removeEventListener('abort', onAbort);
        removeWaiter(waiter, resolve);
      }
    },
    notify: tell,
    [Symbol.dispose]: () => stop?.(),
  };
}

/** Polls the oldest waiters first; polled waiters move to the end. */
async function pollTurns({ turns, bodies }: TurnWaitersDeps, waiters: Map<string, Waiter>, tell: TurnWaiters['notify']): Promise<void> {
  const byTenant = new Map<string, string[]>();
  for (const [name, waiter] of [...waiters].slice(0, POLL_BATCH_SIZE)) {
    byTenant.set(waiter.tenant, [...(byTenant.get(waiter.tenant) ?? []), waiter.turnId]);
    waiters.delete(name);
    waiters.set(name, waiter);
  }
  for (const [tenant, ids] of byTenant) {
    const { items } = await turns.for({ tenant }).find({ turnId: { in: ids } }, { limit: POLL_BATCH_SIZE });
    for (const turn of items) if (hasEnded(turn)) tell(tenant, turn.turnId, await loadTurnEnd(bodies.for({ tenant }), turn));
  }
}

/** Loads the end of a finished turn from its document. */
export async function loadTurnEnd(bodies: ReturnType<Collection<BodyDocument>['for']>, turn: TurnDocument): Promise<TurnEnd> {
  const { turnId, answer, tokensUsed, finishReason, failure } = turn;
  if (answer && tokensUsed && finishReason)
    return { result: { response: await loadText(bodies, turnId, answer), tokensUsed, finishReason } };
  return { failure: failure ?? { code: 'UNKNOWN', message: 'The turn ended without a stored result.', details: { turnId } } };
}

import { ServiceError, subjects, TurnFrame, type TurnFailure, type TurnResult } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Documents } from '@switchyard/store';
import type { TurnDocument } from '../data.ts';
import type { TurnEnd } from './run-durable.ts';

/** Frames may be missed; the turn's document is never wrong for longer than this. */
const LOOK_MS = 1_000;

export interface Awaited {
  bus: Bus;
  turns: Documents<TurnDocument>;
  /** The run itself, when it happens in this process. */
  here: Promise<TurnEnd | undefined> | undefined;
  turnId: string;
  signal: AbortSignal;
}

export type End = { result: TurnResult; failure?: undefined } | { failure: TurnFailure; result?: undefined };

/** Waits for the end of a turn, wherever it runs. Rejects CANCELLED when the signal says to stop waiting. */
export async function awaitEnd(awaited: Awaited): Promise<End> {
  const { here, signal } = awaited;
  // A run that broke or was taken over says nothing of how the turn ends.
  const end =
    here &&
    (await orLeave(
      here.catch(() => undefined),
      signal,
    ));
  return end ?? (await endOf(awaited)) ?? watch(awaited);
}

async function endOf({ turns, turnId }: Awaited): Promise<End | undefined> {
  const turn = await turns.get(turnId);
  if (turn?.result) return { result: turn.result };
  if (turn?.failure) return { failure: turn.failure };
  return undefined;
}

async function watch(awaited: Awaited): Promise<End> {
  const { promise, resolve, reject } = Promise.withResolvers<End>();
  const look = (): void => void endOf(awaited).then((end) => end && resolve(end), reject);
  const subscription = awaited.bus.subscribe(subjects.turn(awaited.turnId), (message) => {
    const frame = TurnFrame.parse(JSON.parse(Buffer.from(message.data).toString()));
    if (frame.type === 'done') resolve({ result: frame.result });
    if (frame.type === 'error') resolve({ failure: frame.error });
  });
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  look();
  try {
    return await orLeave(promise, awaited.signal);
  } finally {
    clearInterval(timer);
    subscription.unsubscribe();
  }
}

function orLeave<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const leave = (): void => reject(new ServiceError('CANCELLED', 'The caller left; the turn goes on.'));
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

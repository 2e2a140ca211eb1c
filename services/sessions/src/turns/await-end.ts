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
  if (here) {
    const end = await orLeave(here, signal);
    if (end?.result) return { result: end.result };
    if (end?.failure) return { failure: end.failure };
  }
  return (await endOf(awaited)) ?? orLeave(watch(awaited), signal);
}

async function endOf({ turns, turnId }: Awaited): Promise<End | undefined> {
  const turn = await turns.get(turnId);
  if (turn?.result) return { result: turn.result };
  if (turn?.failure) return { failure: turn.failure };
  return undefined;
}

function watch(awaited: Awaited): Promise<End> {
  return new Promise<End>((resolve, reject) => {
    const stop = (): void => {
      clearInterval(timer);
      subscription.unsubscribe();
      awaited.signal.removeEventListener('abort', stop);
    };
    const done = (end: End): void => {
      stop();
      resolve(end);
    };
    const look = (): void => {
      endOf(awaited).then(
        (end) => end && done(end),
        (error: unknown) => {
          stop();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    };
    const subscription = awaited.bus.subscribe(subjects.turn(awaited.turnId), (message) => {
      const frame = TurnFrame.parse(JSON.parse(Buffer.from(message.data).toString()));
      if (frame.type === 'done') done({ result: frame.result });
      if (frame.type === 'error') done({ failure: frame.error });
    });
    const timer = setInterval(look, LOOK_MS);
    timer.unref();
    awaited.signal.addEventListener('abort', stop);
    look();
  });
}

function orLeave<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const leave = (): void => reject(new ServiceError('CANCELLED', 'The caller left; the turn goes on.'));
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

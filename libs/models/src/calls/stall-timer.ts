import { ServiceError } from '@switchyard/contracts';

/** Aborts a model call after too much silence, or when the caller cancels. */
export interface StallTimer extends Disposable {
  /** Aborted with a ServiceError: CANCELLED, or DEADLINE_EXCEEDED with reason MODEL_STALLED. */
  readonly signal: AbortSignal;
  /** Restarts the timer. Called for all received data. */
  readonly reset: () => void;
}

export function createStallTimer(caller: AbortSignal, silenceMs: number): StallTimer {
  const controller = new AbortController();
  const cancel = (): void => {
    controller.abort(new ServiceError('CANCELLED', 'the model call was cancelled', { cause: caller.reason }));
  };
  const timer = setTimeout(() => {
    controller.abort(
      new ServiceError('DEADLINE_EXCEEDED', `the model sent no data for ${silenceMs} ms`, { details: { reason: 'MODEL_STALLED' } }),
    );
  }, silenceMs);
  if (caller.aborted) cancel();
  else caller.addEventListener('abort', cancel, { once: true });
  return {
    signal: controller.signal,
    reset: () => {
      timer.refresh();
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      caller.removeEventListener('abort', cancel);
    },
  };
}

import { ServiceError } from '@switchyard/contracts';

/** Bounds the silence of one model call, and carries the caller's cancellation to it. */
export interface Watch extends Disposable {
  /** Aborts with the ServiceError that says why: CANCELLED or DEADLINE_EXCEEDED, reason MODEL_STALLED. */
  readonly signal: AbortSignal;
  /** The model showed life: the silence counts anew. */
  readonly alive: () => void;
}

export function createWatch(caller: AbortSignal, silenceMs: number): Watch {
  const controller = new AbortController();
  const cancel = (): void => {
    controller.abort(new ServiceError('CANCELLED', 'the model call was cancelled', { cause: caller.reason }));
  };
  const timer = setTimeout(() => {
    controller.abort(
      new ServiceError('DEADLINE_EXCEEDED', `the model was silent for ${silenceMs} ms`, { details: { reason: 'MODEL_STALLED' } }),
    );
  }, silenceMs);
  if (caller.aborted) cancel();
  else caller.addEventListener('abort', cancel, { once: true });
  return {
    signal: controller.signal,
    alive: () => {
      timer.refresh();
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      caller.removeEventListener('abort', cancel);
    },
  };
}

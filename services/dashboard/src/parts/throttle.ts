/** Calls a function at once, and during the interval after a call at most once more, at its end. */
export function throttle(run: () => void, intervalMs: number): { call: () => void; cancel: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isPending = false;
  const start = (): void => {
    run();
    timer = setTimeout(() => {
      timer = undefined;
      if (!isPending) return;
      isPending = false;
      start();
    }, intervalMs);
  };
  return {
    call() {
      if (timer === undefined) start();
      else isPending = true;
    },
    cancel() {
      clearTimeout(timer);
      timer = undefined;
      isPending = false;
    },
  };
}

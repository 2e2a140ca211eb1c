/** Keeps calls away from a server that does not answer: after some failures in a row for a while, then until one call got through. */
export interface Breaker {
  /** Whether to call now. Whoever is told so says how it went. */
  allows(): boolean;
  succeeded(): void;
  failed(reason: string): void;
}

export interface BreakerOptions {
  failures: number;
  openMs: number;
  onOpen: (reason: string) => void;
  onClose: () => void;
  now?: () => number;
}

export function createBreaker({ failures, openMs, onOpen, onClose, now = () => performance.now() }: BreakerOptions): Breaker {
  let failed = 0;
  let openUntil: number | undefined;
  let trying = false;
  return {
    allows() {
      if (openUntil === undefined) return true;
      if (trying || now() < openUntil) return false;
      trying = true;
      return true;
    },
    succeeded() {
      const wasOpen = openUntil !== undefined;
      failed = 0;
      openUntil = undefined;
      trying = false;
      if (wasOpen) onClose();
    },
    failed(reason) {
      if (openUntil !== undefined && !trying) return; // asked before it opened
      const wasOpen = trying;
      if (++failed < failures && !wasOpen) return;
      openUntil = now() + openMs;
      trying = false;
      if (!wasOpen) onOpen(reason);
    },
  };
}

/**
 * Circuit breaker for the cache server. Opens after `failures` consecutive failures. After `openMs` one probe call is let through; its
 * success closes the breaker.
 */
export interface Breaker {
  /** Whether a call may be sent. The caller must report its outcome. */
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
      if (openUntil !== undefined && !trying) return; // sent before the breaker opened
      const wasOpen = trying;
      if (++failed < failures && !wasOpen) return;
      openUntil = now() + openMs;
      trying = false;
      if (!wasOpen) onOpen(reason);
    },
  };
}

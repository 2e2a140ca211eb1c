import type { Clock } from '@switchyard/service-kit';

/** Values by name, as many as there is room for: what was put in longest ago goes first. */
export interface Remembered<T> {
  get(name: string): T | undefined;
  /** `chars` is what it takes. */
  put(name: string, value: T, chars: number): void;
  forget(name: string): void;
}

export interface RememberedOptions {
  mostChars: number;
  /** What was put in so long ago is forgotten with the next one that is. */
  idleMs: () => number;
  clock: Pick<Clock, 'now'>;
}

export function createRemembered<T>({ mostChars, idleMs, clock }: RememberedOptions): Remembered<T> {
  const known = new Map<string, { value: T; chars: number; at: number }>();
  let chars = 0;

  function forget(name: string): void {
    chars -= known.get(name)?.chars ?? 0;
    known.delete(name);
  }

  return {
    get: (name) => known.get(name)?.value,
    put(name, value, taken) {
      forget(name);
      const at = clock.now();
      known.set(name, { value, chars: taken, at });
      chars += taken;
      for (const [oldest, { at: since }] of known) {
        if (chars <= mostChars && at - since <= idleMs()) return;
        forget(oldest);
      }
    },
    forget,
  };
}

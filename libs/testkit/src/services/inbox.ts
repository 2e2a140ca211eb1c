/** Timeout for an expected event. */
const PATIENCE_MS = 5_000;

interface Waiting {
  resolve(payload: unknown): void;
  reject(error: Error): void;
}

/** Received events by name. Each is returned once, in order. */
export interface Inbox extends Disposable {
  add(name: string, payload: unknown): void;
  next<T>(name: string): Promise<T>;
}

/** `explain` adds details to the error of a missing event. */
export function createInbox(explain: () => string): Inbox {
  const arrived = new Map<string, unknown[]>();
  const waiting = new Map<string, Waiting[]>();

  const missing = (name: string): Error =>
    new Error(`no ${name} within ${PATIENCE_MS} ms; seen: ${[...arrived.keys()].join(', ') || 'nothing'}${explain()}`);

  return {
    add(name, payload) {
      const first = waiting.get(name)?.shift();
      if (first) return first.resolve(payload);
      const payloads = arrived.get(name);
      if (payloads) payloads.push(payload);
      else arrived.set(name, [payload]);
    },
    async next<T>(name: string): Promise<T> {
      const keptItems = arrived.get(name);
      if (keptItems !== undefined && keptItems.length > 0) return keptItems.shift() as T;
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const one = { resolve, reject };
      waiting.set(name, [...(waiting.get(name) ?? []), one]);
      const timer = setTimeout(() => reject(missing(name)), PATIENCE_MS);
      try {
        return (await promise) as T;
      } finally {
        clearTimeout(timer);
        waiting.set(
          name,
          (waiting.get(name) ?? []).filter((other) => other !== one),
        );
      }
    },
    [Symbol.dispose]() {
      for (const [name, all] of waiting) for (const one of all) one.reject(new Error(`the service ended before ${name} came`));
    },
  };
}

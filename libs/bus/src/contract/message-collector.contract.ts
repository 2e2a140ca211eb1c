import type { Message } from '../wire/transport.ts';

export const bytes = (text: string) => Buffer.from(text);
export const text = (data: Uint8Array | undefined) => (data === undefined ? undefined : Buffer.from(data).toString());

let names = 0;
/** Returns a unique name, because all contract tests share one server. */
export const fresh = (name: string) => `${name}_${process.pid}_${++names}`;

/** Collects messages and waits for a number of them. */
export function collector() {
  const messages: Message[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  return {
    messages,
    texts: () => messages.map(({ data }) => text(data)),
    onMessage(message: Message) {
      messages.push(message);
      for (const one of waiting) if (messages.length >= one.count) one.resolve();
    },
    async until(count: number) {
      if (messages.length >= count) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ count, resolve });
      await promise;
    },
  };
}

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Order, Returned, OrderReply } from './clients.ts';

const PROCESSES = 2;

/** Many clients in a few processes. */
export interface ClientPool {
  /** Resolves when all disconnected clients have reconnected, or after the timeout. */
  back(withinMs: number): Promise<Returned>;
  /** Number of clients with exactly one message since the last call. */
  countReceived(): Promise<number>;
}

/** Connects one client per token to `from`; disconnected clients reconnect to `to`. */
export async function startClientPool(
  tokens: readonly string[],
  { from, to }: { from: string; to: string },
  stack: AsyncDisposableStack,
): Promise<ClientPool> {
  const share = Math.ceil(tokens.length / PROCESSES);
  const parts = await Promise.all(
    Array.from({ length: PROCESSES }, async (_, index) => {
      const child = fork(new URL('clients.ts', import.meta.url), { execArgv: ['--disable-warning=ExperimentalWarning'] });
      stack.defer(() => void child.kill('SIGKILL'));
      await once(child, 'message');
      await sendOrder(child, { tokens: tokens.slice(index * share, (index + 1) * share), url: `${from}/ws`, returnTo: `${to}/ws` });
      return child;
    }),
  );
  const tellAll = <T>(order: Order): Promise<T[]> => Promise.all(parts.map((child) => sendOrder<T>(child, order)));
  return {
    async back(withinMs) {
      const all = await tellAll<Returned>({ withinMs });
      return { ms: all.flatMap(({ ms }) => ms), attempts: all.reduce((sum, { attempts }) => sum + attempts, 0) };
    },
    countReceived: async () => (await tellAll<number>({ isReceived: true })).reduce((sum, one) => sum + one, 0),
  };
}

async function sendOrder<T>(child: ChildProcess, order: Order): Promise<T> {
  const answer = once(child, 'message');
  child.send(order);
  const [told] = (await answer) as [OrderReply];
  if ('failed' in told) throw new Error(told.failed);
  return told.done as T;
}

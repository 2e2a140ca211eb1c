import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Order, Returned, Told } from './clients.ts';

const PROCESSES = 2;

/** Many clients in a few processes. */
export interface Crowd {
  /** Resolves when everybody who was cut off is back, or the time is over. */
  back(withinMs: number): Promise<Returned>;
  /** How many heard exactly one message since they were asked last. */
  heard(): Promise<number>;
}

/** A client for each token, at `from`, who will come to `to` when it is cut off. */
export async function startCrowd(
  tokens: readonly string[],
  { from, to }: { from: string; to: string },
  stack: AsyncDisposableStack,
): Promise<Crowd> {
  const share = Math.ceil(tokens.length / PROCESSES);
  const parts = await Promise.all(
    Array.from({ length: PROCESSES }, async (_, index) => {
      const child = fork(new URL('clients.ts', import.meta.url), { execArgv: ['--disable-warning=ExperimentalWarning'] });
      stack.defer(() => void child.kill('SIGKILL'));
      await once(child, 'message');
      await tell(child, { tokens: tokens.slice(index * share, (index + 1) * share), url: `${from}/ws`, returnTo: `${to}/ws` });
      return child;
    }),
  );
  const tellAll = <T>(order: Order): Promise<T[]> => Promise.all(parts.map((child) => tell<T>(child, order)));
  return {
    async back(withinMs) {
      const all = await tellAll<Returned>({ withinMs });
      return { ms: all.flatMap(({ ms }) => ms), attempts: all.reduce((sum, { attempts }) => sum + attempts, 0) };
    },
    heard: async () => (await tellAll<number>({ heard: true })).reduce((sum, one) => sum + one, 0),
  };
}

async function tell<T>(child: ChildProcess, order: Order): Promise<T> {
  const answer = once(child, 'message');
  child.send(order);
  const [told] = (await answer) as [Told];
  if ('failed' in told) throw new Error(told.failed);
  return told.done as T;
}

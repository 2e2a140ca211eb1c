import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { LoadPlan, LoadReport, LoadResult } from './load-plan.ts';

/** The load generator in its own process. It runs one measurement at a time. */
export interface Load extends Disposable {
  measure(plan: LoadPlan): Promise<LoadResult>;
}

export async function startLoad(): Promise<Load> {
  const child = fork(new URL('load.ts', import.meta.url));
  const gone = once(child, 'exit').then(() => Promise.reject(new Error('the load generator is gone')));
  gone.catch(() => undefined); // The process is killed at disposal, which is no failure.
  await next();

  async function next(): Promise<LoadReport> {
    const [report] = (await Promise.race([once(child, 'message'), gone])) as [LoadReport];
    return report;
  }

  return {
    async measure(plan) {
      const report = next();
      child.send(plan);
      const said = await report;
      if ('result' in said) return said.result;
      throw new Error('failed' in said ? said.failed : 'the load generator said nothing of its measurement');
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

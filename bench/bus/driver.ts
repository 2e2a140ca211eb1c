import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { root } from '../subject.ts';
import type { Driven, DrivePlan } from './drive.ts';

/** A process that runs one closed-loop measurement at a time. */
export interface Driver extends Disposable {
  measure(plan: DrivePlan): Promise<Driven>;
}

/** Starts a script of this folder that ends in `drive`. */
export async function startDriver(script: string, env: Record<string, string>): Promise<Driver> {
  const child = fork(join(root, 'bench/bus', script), {
    env,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const gone = once(child, 'exit').then(() => Promise.reject(new Error(`${script} is gone`)));
  gone.catch(() => undefined); // The process is killed at disposal, which is no failure.
  const nextMessage = async (): Promise<unknown> => ((await Promise.race([once(child, 'message'), gone])) as unknown[])[0];
  await nextMessage();
  return {
    async measure(plan) {
      const answer = nextMessage();
      child.send(plan);
      return (await answer) as Driven;
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

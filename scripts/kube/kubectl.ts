import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { insideNetwork } from './network.ts';
import { KUBECONFIG, program } from './paths.ts';
import { assertRunning } from './processes.ts';

const run = promisify(execFile);
const POLL_MS = 250;
const START_TIMEOUT_MS = 180_000;
const MAX_OUTPUT_BYTES = 64 * 2 ** 20;

/** Runs kubectl and returns its output. Throws with its message. */
export function kubectl(args: readonly string[], input = ''): Promise<string> {
  return runInside([program('kubectl'), '--kubeconfig', KUBECONFIG, ...args], input);
}

/** Repeats a kubectl command until it succeeds. Throws if the process it waits for ends, or after three minutes. */
export async function awaitSuccess(args: readonly string[], processName: string): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      await kubectl(args);
      return;
    } catch (error) {
      assertRunning(processName);
      if (performance.now() > deadline) throw error;
      await sleep(POLL_MS);
    }
  }
}

/** Applies objects to the cluster: to a namespace, or each to its own. */
export async function apply(objects: readonly object[], namespace?: string): Promise<void> {
  const place = namespace === undefined ? [] : ['--namespace', namespace];
  await kubectl([...place, 'apply', '-f', '-'], objects.map((object) => JSON.stringify(object)).join('\n---\n'));
}

/** Runs a program inside the network namespace and returns its output. Rejects with its messages in `stderr`. */
export async function runInside([name = '', ...words]: readonly string[], input = ''): Promise<string> {
  const [file = '', ...args] = insideNetwork([name, ...words]);
  const running = run(file, args, { encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES });
  running.child.stdin?.end(input);
  return (await running).stdout;
}

import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { CHARTS } from './render.ts';
import { KUBERNETES_VERSIONS } from './tools.ts';

const start = promisify(execFile);
const MAX_OUTPUT_BYTES = 64 * 2 ** 20;
const NEWEST = KUBERNETES_VERSIONS.at(-1) ?? '';

/** Runs a program and returns its output. Rejects with its messages in `stdout` and `stderr`. */
export async function run(file: string, args: readonly string[], input = ''): Promise<string> {
  const running = start(file, args, { encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES });
  running.child.stdin?.end(input);
  return (await running).stdout;
}

/** The messages of a program that failed. */
export function readMessages(error: unknown): string {
  const { stdout = '', stderr = '', message } = error as { stdout?: string; stderr?: string; message: string };
  return `${stdout}${stderr}`.trim() || message;
}

/** Renders a chart without a cluster. Rejects with the message of Helm. */
export function template(helm: string, chart: string, values: object): Promise<string> {
  const args = ['template', 'switchyard', join(CHARTS, chart), '--kube-version', NEWEST, '--values', '-'];
  return run(helm, args, stringify(values));
}

/** Checks a chart and its rendering as `helm lint --strict`. Rejects with the findings. */
export async function lint(helm: string, chart: string, values: object): Promise<void> {
  await run(helm, ['lint', join(CHARTS, chart), '--strict', '--quiet', '--kube-version', NEWEST, '--values', '-'], stringify(values));
}

/** Runs work on each item, as many at a time as the machine has processors. Returns the results in the order of the items. */
export async function forEachItem<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const remaining = items.entries();
  const takeNext = async (): Promise<void> => {
    for (const [index, item] of remaining) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, takeNext));
  return results;
}

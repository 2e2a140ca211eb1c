import { spawn, type ChildProcessWithoutNullStreams, type StdioOptions } from 'node:child_process';

const MAX_STDERR_CHARS = 1_000;

export interface ChildRunOptions {
  command: string;
  args: readonly string[];
  input: readonly Uint8Array[];
  /** Open files that the child has as its descriptors 3, 4 and so on. */
  descriptors?: readonly number[];
  signal: AbortSignal;
  timeoutMs: number;
  maxOutputBytes: number;
}

export type ChildRun = { output: Buffer } | { ended: 'timed_out' | 'crashed'; stderr: string };

/**
 * Runs a child in a process group of its own, with an empty environment. The whole group is killed on timeout, on abort, and when it
 * writes too much. Throws the reason of the signal after an abort.
 */
export async function runChild({
  command,
  args,
  input,
  descriptors = [],
  signal,
  timeoutMs,
  maxOutputBytes,
}: ChildRunOptions): Promise<ChildRun> {
  signal.throwIfAborted();
  const stdio: StdioOptions = ['pipe', 'pipe', 'pipe', ...descriptors];
  // The types know the streams of a fixed list only.
  const child = spawn(command, args, { stdio, env: {}, detached: true, cwd: '/' }) as ChildProcessWithoutNullStreams;
  let isTimeout = false;
  const kill = (): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended in the meantime.
    }
  };
  const timer = setTimeout(() => {
    isTimeout = true;
    kill();
  }, timeoutMs);
  signal.addEventListener('abort', kill, { once: true });
  const output: Buffer[] = [];
  let size = 0;
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxOutputBytes) kill();
    else output.push(chunk);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(0, MAX_STDERR_CHARS)));
  // A child that dies early closes its input; its exit says why.
  child.stdin.on('error', () => undefined);
  for (const bytes of input) child.stdin.write(bytes);
  child.stdin.end();
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once('error', (error) => {
    stderr += error.message;
    resolve(null);
  });
  child.once('close', (code) => resolve(code));
  const code = await promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
  });
  signal.throwIfAborted();
  return code === 0 ? { output: Buffer.concat(output) } : { ended: isTimeout ? 'timed_out' : 'crashed', stderr };
}

import { execFile, type ChildProcess } from 'node:child_process';
import { promisify } from 'node:util';

/** A test file in its process. */
export interface RunningFile {
  pid: number;
  file: string;
}

/**
 * Ends with SIGKILL each process of `runner` (a `node --test`) that is older than `limitMs`, and calls `ended` with its file, which
 * the runner then reports as failed. The runner's own limit is one for a test: a file whose test is over but whose loop or server
 * goes on would keep it waiting for ever. Where there is no `ps` there is no limit, and `ended` is never called.
 */
export function endOverdue(runner: ChildProcess, limitMs: number, ended: (file: string) => void): Disposable {
  const since = new Map<number, number>();
  const look = async () => {
    const running = await filesOf(runner.pid ?? -1);
    for (const pid of since.keys()) if (!running.some((one) => one.pid === pid)) since.delete(pid);
    for (const { pid, file } of running) {
      const begun = since.get(pid) ?? Date.now();
      since.set(pid, begun);
      if (Date.now() - begun < limitMs || !kill(pid)) continue;
      ended(file);
    }
  };
  const looks = setInterval(() => void look(), Math.min(limitMs / 4, 5_000));
  return { [Symbol.dispose]: () => clearInterval(looks) };
}

const run = promisify(execFile);

async function filesOf(runner: number): Promise<RunningFile[]> {
  try {
    return children((await run('ps', ['-A', '-o', 'pid=,ppid=,args='])).stdout, runner);
  } catch {
    return [];
  }
}

/** What `ps` lists (pid, parent, arguments) of this parent; the last argument is the file. */
export function children(listing: string, parent: number): RunningFile[] {
  return listing.split('\n').flatMap((line) => {
    const [, pid, ppid, file] = /^\s*(\d+)\s+(\d+)\s.*?(\S+\.test\.ts)\s*$/.exec(line) ?? [];
    return file !== undefined && Number(ppid) === parent ? [{ pid: Number(pid), file }] : [];
  });
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false; // it has just ended by itself
  }
}

import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

/** The input of this shell closes when the test process ends; then it kills the child. It ignores signals to the process group. */
const GUARD = 'trap "" HUP INT TERM; read _; ';
const KILL = 'kill -9 "$0"';
/** Gives a child with its own children 30 s to end them before it is killed. */
const TELL = 'kill "$0"; n=0; while [ $n -lt 30 ] && kill -0 "$0"; do sleep 1; n=$((n+1)); done; [ $n -lt 30 ] || kill -9 "$0"';

/** Ends a child when this process ends, even by SIGKILL, when no cleanup code of this process runs. */
export function endWithParent(child: ChildProcess, { how }: { how: 'killed' | 'told' } = { how: 'killed' }): void {
  if (child.pid === undefined) return;
  const guard = spawn('sh', ['-c', GUARD + (how === 'told' ? TELL : KILL), String(child.pid)], { stdio: ['pipe', 'ignore', 'ignore'] });
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  guard.unref();
  (guard.stdin as Socket).unref();
  child.once('exit', () => guard.kill('SIGKILL'));
}

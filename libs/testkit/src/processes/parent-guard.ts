import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

/** Its input ends when the process before it does, and then it ends the other one. Signals that are meant for all do not end it first. */
const GUARD = 'trap "" HUP INT TERM; read _; ';
const KILL = 'kill -9 "$0"';
/** What has processes of its own ends them first, if it can. */
const TELL = 'kill "$0"; n=0; while [ $n -lt 30 ] && kill -0 "$0"; do sleep 1; n=$((n+1)); done; [ $n -lt 30 ] || kill -9 "$0"';

/** Ends a child with this process, however that ends: one that is killed tidies up nothing itself. */
export function endWithParent(child: ChildProcess, { how }: { how: 'killed' | 'told' } = { how: 'killed' }): void {
  if (child.pid === undefined) return;
  const guard = spawn('sh', ['-c', GUARD + (how === 'told' ? TELL : KILL), String(child.pid)], { stdio: ['pipe', 'ignore', 'ignore'] });
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  guard.unref();
  (guard.stdin as Socket).unref();
  child.once('exit', () => guard.kill('SIGKILL'));
}

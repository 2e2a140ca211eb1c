import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

/** Its input ends when the process before it does, and then it ends the other one. Signals that are meant for all do not end it first. */
const GUARD = 'trap "" HUP INT TERM; read _; kill -9 "$0"';

/** Ends a child with this process, however that ends: one that is killed tidies up nothing itself. */
export function endWithParent(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const guard = spawn('sh', ['-c', GUARD, String(child.pid)], { stdio: ['pipe', 'ignore', 'ignore'] });
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  guard.unref();
  (guard.stdin as Socket).unref();
  child.once('exit', () => guard.kill('SIGKILL'));
}

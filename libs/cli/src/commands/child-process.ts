import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { EMBEDDED_FLAGS, RESTART_CODE } from '@switchyard/contracts';

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Signals within this time count once. Shells and `timeout` signal a process and then its whole group. */
const ONE_WISH_MS = 250;

/**
 * Runs a program with the same Node and terminal, and returns its exit code. The program gets its own process group, so that Ctrl-C
 * reaches it once: servers abort on the second signal.
 */
export async function runChild(program: string, env: NodeJS.ProcessEnv, oneWishMs: number = ONE_WISH_MS): Promise<number> {
  for (;;) {
    const code = await runOnce(program, env, oneWishMs);
    if (code !== RESTART_CODE) return code;
  }
}

async function runOnce(program: string, env: NodeJS.ProcessEnv, oneWishMs: number): Promise<number> {
  const child = spawn(process.execPath, [...EMBEDDED_FLAGS, program], { stdio: 'inherit', env, detached: true });
  const receivedMessages = new Map<NodeJS.Signals, number>();
  const forward = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (now - (receivedMessages.get(signal) ?? -Infinity) > oneWishMs) child.kill(signal);
    receivedMessages.set(signal, now);
  };
  for (const signal of FORWARDED) process.on(signal, forward);
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + constants.signals[signal ?? 'SIGTERM'];
  } finally {
    for (const signal of FORWARDED) process.off(signal, forward);
  }
}

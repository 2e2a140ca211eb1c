import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { StartError } from '@switchyard/service-kit';

/** Runs a program until it ends. Throws an error with its output when it fails. */
export async function runJob([program = '', ...args]: readonly string[], env: Record<string, string>, signal: AbortSignal): Promise<void> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'], signal, detached: true });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  if (code !== 0) throw new StartError(said.trim() || `${args.at(-1)} ended with code ${String(code)}`);
}

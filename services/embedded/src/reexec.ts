import { RESTART_CODE } from '@switchyard/contracts';
import { StartError, type Variables } from '@switchyard/service-kit';

/**
 * Replaces the process image via `execve`, keeping PID, stdio and listening port. The new image reads the current files and code.
 * No supervisor is needed.
 */
export function reexec(env: Variables, port: number): never {
  // With the permission model a process cannot exec; its parent starts it again.
  if (process.permission !== undefined) process.exit(RESTART_CODE);
  const { SWITCHYARD_GATEWAY__PORT: _any, ...rest } = env;
  const variables = Object.entries({ ...rest, SWITCHYARD_PORT: String(port) }).filter(([, value]) => value !== undefined);
  const argv = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  if (process.execve === undefined) throw new StartError('This system does not support execve. Start again with: make start');
  return process.execve(process.execPath, argv, Object.fromEntries(variables));
}

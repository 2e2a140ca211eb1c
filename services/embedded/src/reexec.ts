import { RESTART_CODE } from '@switchyard/contracts';
import { StartError, type Variables } from '@switchyard/service-kit';

/**
 * Becomes the same program anew, as the same process: nobody has to keep it alive, its terminal and whoever waits for it notice nothing,
 * and what files and code say by now counts. It listens where it listened, also where it had taken any free port.
 */
export function takeOwnPlace(env: Variables, port: number): never {
  // Whoever may start no process is started by who started it.
  if (process.permission !== undefined) process.exit(RESTART_CODE);
  const { SWITCHYARD_GATEWAY__PORT: _any, ...rest } = env;
  const given = Object.entries({ ...rest, SWITCHYARD_PORT: String(port) }).filter(([, value]) => value !== undefined);
  const argv = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  if (process.execve === undefined) throw new StartError('This system cannot start a process in its own place. Start it again: make start');
  return process.execve(process.execPath, argv, Object.fromEntries(given));
}

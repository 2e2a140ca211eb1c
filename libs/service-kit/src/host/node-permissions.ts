import { mkdirSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from './environment.ts';
import type { ConfigurationSource } from '../settings/configuration-source.ts';
import { StartError } from '../variables/start-error.ts';

/** Root directory of the product's code. */
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const DATA_DIR = '{dataDir}';
const A_DIRECTORY = /^(?:sqlite|file):(.+)$/;
/** Files are opened relative to the handle of their directory, see `openSafeDirectory`. Node normalizes `..` before it compares paths. */
const OPEN_HANDLES = process.platform === 'linux' ? ['/proc/self/fd'] : [];
const A_FILE = /^[A-Za-z_][A-Za-z0-9_]*_FILE$/;

type Settings = Pick<ConfigurationSource, 'current' | 'files'>;

/**
 * Returns the Node flags for `security.permission.enableNodePermissions`; undefined if no restart is needed. With them the process
 * can read its code, its data, the files named by its configuration and environment, and `allowedFsPaths`; it can write its data and
 * `allowedFsPaths`; it cannot start other processes. Node does not check the files that SQLite opens.
 */
export function permissionFlags(
  environment: Environment,
  settings: Settings,
  has = process.permission !== undefined,
): string[] | undefined {
  const { enableNodePermissions, allowedFsPaths } = settings.current.security.permission;
  if (!enableNodePermissions || has) return undefined;
  const { variables } = environment;
  if (variables['WATCHDOG_USEC'] && variables['NOTIFY_SOCKET']) throw new StartError(WATCHED);
  const written = writtenBy(environment, settings);
  for (const dir of written) mkdirSync(dir, { recursive: true, mode: 0o700 });
  const named = allowedFsPaths.map((path) => resolve(path));
  const read = [ROOT, ...written, ...named, ...readBy(environment, settings)];
  return [
    '--permission',
    // Transcript search runs in a worker. Node warns that untrusted code in a worker could bypass the restrictions.
    '--allow-worker',
    '--disable-warning=PERM0006',
    ...[...distinct(read), ...OPEN_HANDLES].map((path) => `--allow-fs-read=${path}`),
    ...distinct([...written, ...named]).map((path) => `--allow-fs-write=${path}`),
  ];
}

const WATCHED =
  'security.permission.enableNodePermissions forbids child processes, but the systemd watchdog needs systemd-notify. Remove WatchdogSec from the unit, or the setting.';

/** Lists the directories of data, documents, blobs and the log. */
function writtenBy({ data, store, variables }: Environment, { current }: Settings): string[] {
  const { filePath } = current.daemon.logging;
  const log = filePath.startsWith(DATA_DIR) ? join(data, filePath.slice(DATA_DIR.length)) : resolve(data, filePath);
  const { dbPath } = current.security.secrets;
  return [
    data,
    ...[store, variables['SWITCHYARD_BLOBS'] ?? ''].flatMap((url) => A_DIRECTORY.exec(url)?.[1] ?? []),
    dirname(log),
    ...(isAbsolute(dbPath) ? [dirname(dbPath)] : []),
  ].map((path) => resolve(path));
}

/** Lists the files named before the start. Settings that change later cannot add files. */
function readBy({ variables }: Environment, { current, files }: Settings): string[] {
  const { tls, web } = current.gateway;
  const byVariable = Object.entries(variables).flatMap(([name, value]) => (A_FILE.test(name) && value ? [value] : []));
  const bySetting = [...Object.values(tls ?? {}), web.path].filter((path) => typeof path === 'string' && path !== '');
  return [...files(), ...byVariable, ...bySetting].map((path) => resolve(String(path)));
}

/** Adds the targets of symbolic links, because Node checks the real path. */
function distinct(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap((path) => [path, followed(path)]))];
}

function followed(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Replaces the process image with the same program and additional Node flags. The PID stays the same. */
export function startAgainWith(flags: readonly string[]): never {
  if (process.execve === undefined) throw new StartError(`This system does not support execve. Start Node with ${flags.join(' ')}.`);
  const env = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined)) as Record<string, string>;
  return process.execve(process.execPath, [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)], env);
}

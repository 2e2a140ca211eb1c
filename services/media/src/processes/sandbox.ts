import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from './find-program.ts';

/** How the network is kept from a parser: a sandbox, a network namespace, or not at all. */
export type Isolation = 'bubblewrap' | 'namespace' | 'none';

/** Memory of a parser. The kernel refuses more. V8 reserves another 512 MiB of address space for code, which counts too. */
const MAX_MEMORY_KIB = (512 + 512) * 1024;
/** CPU time after which the kernel ends a parser, also if the service has died. */
const MAX_CPU_SECONDS = 60;
const HEAP_MIB = 384;

const PARSERS = fileURLToPath(new URL('../parsers', import.meta.url));
const SERVICE = dirname(dirname(PARSERS));
const SYSTEM_DIRECTORIES = ['/usr', '/lib', '/lib64', '/bin', '/etc/ssl', '/etc/ld.so.cache'];

/** Folders with the code of a parser: its sources, its manifest, and the packages of all folders above. */
function listReadable(): string[] {
  const packages: string[] = [];
  for (let folder = SERVICE; dirname(folder) !== folder; folder = dirname(folder)) packages.push(join(folder, 'node_modules'));
  // Package managers may link packages from another folder, and Node checks the real path.
  packages.push(findInstalledPackages());
  return [...new Set([PARSERS, join(SERVICE, 'package.json'), ...packages])].filter((path) => existsSync(path));
}

/** The folder in which the packages of the parsers lie. */
function findInstalledPackages(): string {
  const path = realpathSync(fileURLToPath(import.meta.resolve('sharp')));
  const marker = join('/', 'node_modules', '/');
  return path.slice(0, path.lastIndexOf(marker) + marker.length - 1);
}

function works(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore', timeout: 5_000, env: { PATH: process.env['PATH'] } }).status === 0;
}

let detected: Isolation | undefined;

/** Finds the strongest isolation that this machine allows. Tried once in the life of a process. */
export function detectIsolation(): Isolation {
  detected ??= works('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true'])
    ? 'bubblewrap'
    : works('unshare', ['--user', '--net', '--map-current-user', 'true'])
      ? 'namespace'
      : 'none';
  return detected;
}

/** Builds the command of a parser: no network, no file but its own code, no child processes, limited memory and CPU time. */
export function buildParserCommand(
  main: 'parser-main.ts' | 'image-main.ts',
  isolation: Isolation = detectIsolation(),
): { command: string; args: string[] } {
  const readable = listReadable();
  const node = [
    process.execPath,
    '--permission',
    // The image library is native code.
    ...(main === 'image-main.ts' ? ['--allow-addons'] : []),
    ...readable.map((path) => `--allow-fs-read=${path}`),
    '--disable-warning=ExperimentalWarning',
    `--max-old-space-size=${HEAP_MIB}`,
    join(PARSERS, main),
  ];
  const limited = ['/bin/sh', '-c', `ulimit -d ${MAX_MEMORY_KIB}; ulimit -t ${MAX_CPU_SECONDS}; ulimit -c 0; exec "$@"`, 'sh', ...node];
  if (isolation === 'none') return { command: limited[0] ?? '', args: limited.slice(1) };
  if (isolation === 'namespace')
    return { command: findProgram('unshare') ?? 'unshare', args: ['--user', '--net', '--map-current-user', '--', ...limited] };
  const mounts = [...SYSTEM_DIRECTORIES.filter((path) => existsSync(path)), dirname(process.execPath), ...readable];
  const args = [
    '--unshare-all',
    '--die-with-parent',
    '--new-session',
    '--clearenv',
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--tmpfs',
    '/tmp',
    // After the empty /tmp, because a checkout may lie below it.
    ...mounts.flatMap((path) => ['--ro-bind', path, path]),
    '--chdir',
    '/tmp',
    '--',
    ...limited,
  ];
  return { command: findProgram('bwrap') ?? 'bwrap', args };
}

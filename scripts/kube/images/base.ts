import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const USERS = 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n';

/** Writes the file system below every service: this Node with its libraries, tini, a shell. It stands in for the base image of the Dockerfile. */
export function writeBaseFiles(folder: string): void {
  copyProgram(folder, process.execPath, '/usr/local/bin/node');
  copyInto(folder, '/usr/bin/tini-static', '/usr/bin/tini');
  writeShell(folder);
}

/** Writes a shell with the usual commands, and a writable /tmp. */
export function writeShell(folder: string): void {
  copyInto(folder, '/bin/busybox', '/bin/busybox');
  for (const command of ['sh', 'sleep', 'nc', 'cat', 'ls']) symlinkSync('busybox', join(folder, 'bin', command));
  mkdirSync(join(folder, 'etc'), { recursive: true });
  writeFileSync(join(folder, 'etc', 'passwd'), USERS);
  writeFileSync(join(folder, 'etc', 'group'), 'root:x:0:\nnode:x:1000:\n');
  mkdirSync(join(folder, 'tmp'));
  chmodSync(join(folder, 'tmp'), 0o1777);
}

/** Copies a program with the shared libraries that it needs. */
export function copyProgram(folder: string, from: string, to: string): void {
  for (const library of listLibraries(from)) copyInto(folder, library, library);
  copyInto(folder, from, to);
}

export function copyInto(folder: string, from: string, to: string): void {
  const target = join(folder, to);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(from, target);
}

/** The shared libraries of a program, with the loader. ldd fails for a static program. */
function listLibraries(program: string): string[] {
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' });
  const lines = stdout.split('\n');
  return lines.flatMap((line) => /(?:=> |^\s*)(\/\S+)/.exec(line)?.[1] ?? []);
}

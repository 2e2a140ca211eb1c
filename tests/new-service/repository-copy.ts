import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNatsServer, startProcess, tempDir } from '@switchyard/testkit';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Time limit of a command, also on a busy machine. */
export const PATIENCE_MS = 300_000;

/** Entries of node_modules that belong to one checkout. */
const OF_ONE_CHECKOUT = new Set(['@switchyard', '.installed', '.cache', '.package-lock.json']);

/** A temporary copy of the repository, as it would be committed. */
export interface Copy extends AsyncDisposable {
  readonly path: string;
  /** Runs a command in the copy until it ends. */
  run(...words: string[]): Promise<{ code: number | null; output: string }>;
  read(file: string): string;
  write(file: string, content: string): void;
  /** Inserts a text before another one. */
  insert(file: string, text: string, before: string): void;
}

export async function copyOfTheTree(): Promise<Copy> {
  const { path, ...dir } = await tempDir();
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  for (const file of listed.split('\0').filter((name) => name !== '' && existsSync(root + name)))
    cpSync(root + file, join(path, file), { recursive: true, verbatimSymlinks: true });
  execFileSync('git', ['init', '--quiet'], { cwd: path });
  linkPackages(path);

  const nats = process.env['SWITCHYARD_TEST_NATS'] ?? '';
  const env = {
    HOME: homedir(),
    PATH: [...(nats === 'off' ? [] : [dirname(await findNatsServer())]), process.env['PATH']].join(':'),
    SWITCHYARD_TEST_NATS: nats,
  };
  const copy: Omit<Copy, typeof Symbol.asyncDispose> = {
    path,
    async run(...words) {
      await using child = await startProcess(words, { cwd: path, env });
      const { code } = await child.exited;
      return { code, output: child.output() };
    },
    read: (file) => readFileSync(join(path, file), 'utf8'),
    write: (file, content) => writeFileSync(join(path, file), content),
    insert(file, text, before) {
      const [head, tail] = copy.read(file).split(before);
      if (head === undefined || tail === undefined) throw new Error(`${file} does not have ${before} once`);
      copy.write(file, head + text + before + tail);
    },
  };
  return { ...copy, [Symbol.asyncDispose]: dir[Symbol.asyncDispose] };
}

/** Links the installed packages into a copy; our own packages are those of the copy. */
export function linkPackages(path: string): void {
  const [here, there] = [join(root, 'node_modules'), join(path, 'node_modules')];
  mkdirSync(join(there, '@switchyard'), { recursive: true });
  for (const name of readdirSync(here)) {
    if (!OF_ONE_CHECKOUT.has(name)) symlinkSync(join(here, name), join(there, name));
  }
  for (const name of readdirSync(join(here, '@switchyard'))) {
    symlinkSync(readlinkSync(join(here, '@switchyard', name)), join(there, '@switchyard', name));
  }
  cpSync(join(here, '.installed'), join(there, '.installed'));
  // Both use the same installed servers.
  mkdirSync(join(root, '.tools'), { recursive: true });
  symlinkSync(join(root, '.tools'), join(path, '.tools'));
}

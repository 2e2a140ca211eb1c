import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './subject.ts';

export interface Manifest {
  dependencies: Readonly<Record<string, string>>;
  overrides?: Readonly<Record<string, string>>;
}

/** Installs npm packages below `.tools/`, apart from the packages of this repository, on first use. Returns the folder. */
export async function installOutside(name: string, manifest: Manifest): Promise<string> {
  const directory = join(root, '.tools', name);
  const [first = ''] = Object.keys(manifest.dependencies);
  if (existsSync(join(directory, 'node_modules', first))) return directory;
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'package.json'), JSON.stringify({ private: true, ...manifest }));
  await promisify(execFile)('npm', ['install', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund'], { cwd: directory });
  return directory;
}

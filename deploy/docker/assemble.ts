import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { images } from './images.ts';

// Collects the files of one image: node deploy/docker/assemble.ts IMAGE DIRECTORY. The result is a subset of this tree, so that the
// image runs the tested files.

const root = resolve(fileURLToPath(new URL('../..', import.meta.url)));
const OURS = '@switchyard/';
/** Files that only tests and checks read. */
const TEST_CODE = /\.(test|contract|fixture)\.ts$|\/contracts\/snapshots$/;

interface Manifest {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

function assemble(name: string, out: string): void {
  const image = images.get(name);
  if (image === undefined) throw new Error(`Unknown image ${JSON.stringify(name)}. Images: ${[...images.keys()].join(' ')}`);
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'package.json'), '{"private":true,"type":"module"}\n');
  writeFileSync(join(out, 'main.mjs'), `import '${image.program}';\n`);
  writeFileSync(join(out, 'load.mjs'), `import '${image.loads}';\n`);
  for (const file of image.files) copy(file, out);
  const needed = new Set<string>();
  for (const directory of image.packages) collect(join(root, directory), needed);
  for (const directory of needed) place(relative(root, directory), out);
}

/** Collects the directories of a package and of its run-time dependencies, as Node resolves them. */
function collect(directory: string, into: Set<string>): void {
  if (into.has(directory)) return;
  into.add(directory);
  const { dependencies = {}, optionalDependencies, peerDependencies } = getManifest(directory);
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
    const found = locate(name, directory);
    if (found !== undefined) collect(found, into);
    else if (Object.hasOwn(dependencies, name)) throw new Error(`${directory} needs ${name}, which is not installed`);
  }
}

/** Returns the directory from which Node loads a package. Packages of this repository are links to their folders. */
function locate(name: string, from: string): string | undefined {
  if (name.startsWith(OURS)) return join(root, 'libs', name.slice(OURS.length));
  for (let at = from; at.startsWith(root); at = dirname(at)) {
    const candidate = join(at, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
  }
  return undefined;
}

function place(path: string, out: string): void {
  copy(path, out);
  const [, name] = /^libs\/([^/]+)$/.exec(path) ?? [];
  if (name === undefined) return;
  mkdirSync(join(out, 'node_modules', OURS), { recursive: true });
  symlinkSync(join('../..', path), join(out, 'node_modules', OURS, name));
}

/** Copies a path without nested node_modules, which are copied separately, and without our tests. */
function copy(path: string, out: string): void {
  const from = join(root, path);
  const ours = !path.startsWith('node_modules/');
  const belongs = (file: string): boolean => !relative(from, file).split('/').includes('node_modules') && !(ours && TEST_CODE.test(file));
  cpSync(from, join(out, path), { recursive: true, filter: belongs });
}

function getManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
}

const [name = '', out = ''] = process.argv.slice(2);
assemble(name, resolve(out));

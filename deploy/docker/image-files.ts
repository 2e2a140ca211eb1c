import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { images, type Image } from './images.ts';

/** The root of the repository. */
export const ROOT = resolve(fileURLToPath(new URL('../..', import.meta.url)));
const OURS = '@switchyard/';
/** Files that only tests and checks read. */
const TEST_CODE = /\.(test|contract|fixture)\.ts$|\/contracts\/snapshots$/;

/** The canvas of the PDF library draws pages. The media service reads their text and their pictures only. */
const UNUSED_PACKAGES = new Set(['@napi-rs/canvas']);

interface Manifest {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

/** The content of an image. Paths begin at the root of the repository, and in the image at /app. */
export interface ImageContent {
  /** Files and folders of the repository that belong to the image. */
  paths: string[];
  /** Files that only the image has, by path. */
  generated: Record<string, string>;
  /** Targets of symbolic links by path: packages of this repository, as in node_modules. */
  links: Record<string, string>;
}

/** Collects the content of an image: its files, its packages, and their run-time dependencies as Node resolves them. */
export function readImageContent(name: string): ImageContent {
  const image = getImage(name);
  const needed = new Set<string>();
  for (const directory of image.packages) collect(join(ROOT, directory), needed);
  const packages = [...needed].map((directory) => relative(ROOT, directory));
  const libraries = packages.flatMap((path) => /^libs\/([^/]+)$/.exec(path)?.[1] ?? []);
  return {
    paths: [...image.files, ...packages],
    generated: {
      'package.json': '{"private":true,"type":"module"}\n',
      'main.mjs': `import '${image.program}';\n`,
      'load.mjs': `import '${image.loads}';\n`,
    },
    links: Object.fromEntries(libraries.map((library) => [`node_modules/${OURS}${library}`, `../../libs/${library}`])),
  };
}

/** Whether a file below a path of the content belongs to the image: nested node_modules are paths of their own, and our tests stay out. */
export function belongsToImage(path: string, file: string): boolean {
  const ours = !path.startsWith('node_modules/');
  return !relative(path, file).split('/').includes('node_modules') && !(ours && TEST_CODE.test(file));
}

/** Lists the files and links below a path of the content. */
export function listFiles(path: string): string[] {
  const list = (at: string): string[] => {
    if (!belongsToImage(path, at)) return [];
    return readdirSync(join(ROOT, at), { withFileTypes: true }).flatMap((entry) => {
      const inside = join(at, entry.name);
      if (entry.isDirectory()) return list(inside);
      return belongsToImage(path, inside) ? [inside] : [];
    });
  };
  return statSync(join(ROOT, path)).isDirectory() ? list(path) : [path];
}

function getImage(name: string): Image {
  const image = images.get(name);
  if (image === undefined) throw new Error(`Unknown image ${JSON.stringify(name)}. Images: ${[...images.keys()].join(' ')}`);
  return image;
}

function collect(directory: string, into: Set<string>): void {
  if (into.has(directory)) return;
  into.add(directory);
  const { dependencies = {}, optionalDependencies, peerDependencies } = getManifest(directory);
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
    if (UNUSED_PACKAGES.has(name)) continue;
    const found = locate(name, directory);
    if (found !== undefined) collect(found, into);
    else if (Object.hasOwn(dependencies, name)) throw new Error(`${directory} needs ${name}, which is not installed`);
  }
}

/** Returns the directory from which Node loads a package. Packages of this repository are links to their folders. */
function locate(name: string, from: string): string | undefined {
  if (name.startsWith(OURS)) return join(ROOT, 'libs', name.slice(OURS.length));
  for (let at = from; at.startsWith(ROOT); at = dirname(at)) {
    const candidate = join(at, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
  }
  return undefined;
}

function getManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
}

import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { belongsToImage, readImageContent, ROOT } from './image-files.ts';

// Collects the files of one image: node deploy/docker/assemble.ts IMAGE DIRECTORY. The result is a subset of this tree, so that the
// image runs the tested files.

function assemble(name: string, out: string): void {
  const { paths, generated, links } = readImageContent(name);
  mkdirSync(out, { recursive: true });
  for (const [path, text] of Object.entries(generated)) writeFileSync(join(out, path), text);
  for (const path of paths)
    cpSync(join(ROOT, path), join(out, path), { recursive: true, filter: (file) => belongsToImage(path, relative(ROOT, file)) });
  for (const [path, target] of Object.entries(links)) {
    mkdirSync(dirname(join(out, path)), { recursive: true });
    symlinkSync(target, join(out, path));
  }
}

const [name = '', out = ''] = process.argv.slice(2);
assemble(name, resolve(out));

import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { listFiles, readImageContent, ROOT } from '../../../deploy/docker/image-files.ts';
import { images } from '../../../deploy/docker/images.ts';
import { writeBaseFiles } from './base.ts';
import type { ImageArchive } from './oci.ts';

const DASHBOARD = 'services/dashboard/dist';
/** Its files are part of every image, so they are a layer of their own. */
const SHARED = 'jobs';
const HOME = 'app';
/** As in the Dockerfile. */
const ENTRYPOINT = ['tini', '--', 'node', '--max-semi-space-size=8', '--disable-warning=ExperimentalWarning'];

/** Adds the images of deploy/docker under the names that the charts use. */
export async function addServiceImages(archive: ImageArchive, work: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const base = join(work, 'base');
  writeBaseFiles(base);
  const shared = new Set(listImageFiles(SHARED));
  const layers = [await archive.addLayer(base), await archive.addLayer(ROOT, { files: [...shared], prefix: HOME })];
  for (const name of images.keys()) {
    const own = listImageFiles(name).filter((file) => !shared.has(file));
    const all = [...layers, await archive.addLayer(writeGenerated(name, work))];
    if (own.length > 0) all.push(await archive.addLayer(ROOT, { files: own, prefix: HOME }));
    archive.addImage({
      name: `docker.io/switchyard/${name}:${version}`,
      layers: all,
      user: '1000',
      entrypoint: ENTRYPOINT,
      command: ['main.mjs'],
      directory: `/${HOME}`,
    });
  }
}

function listImageFiles(name: string): string[] {
  const dashboard = name === 'gateway' && existsSync(join(ROOT, DASHBOARD)) ? [DASHBOARD] : [];
  return [...readImageContent(name).paths, ...dashboard].flatMap(listFiles);
}

/** Writes the files and links that only the image has. */
function writeGenerated(name: string, work: string): string {
  const folder = join(work, name);
  const { generated, links } = readImageContent(name);
  mkdirSync(join(folder, HOME), { recursive: true });
  for (const [path, text] of Object.entries(generated)) writeFileSync(join(folder, HOME, path), text);
  for (const [path, target] of Object.entries(links)) {
    mkdirSync(dirname(join(folder, HOME, path)), { recursive: true });
    symlinkSync(target, join(folder, HOME, path));
  }
  return folder;
}

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { IMAGES, STATE } from '../paths.ts';
import { createImageArchive } from './oci.ts';
import { addServiceImages } from './service-images.ts';
import { addSystemImages } from './system-images.ts';

/** Writes all images of a cluster into one archive, without Docker and without a registry. */
export async function writeImages(): Promise<void> {
  const work = join(STATE, 'image-files');
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const archive = createImageArchive(join(work, 'archive'));
  await addSystemImages(archive, work);
  await addServiceImages(archive, work);
  await archive.write(IMAGES);
  rmSync(work, { recursive: true });
}

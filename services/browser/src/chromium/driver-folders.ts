import { readdir, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'playwright_chromiumdev_profile-';

/**
 * Removes the empty profile folders that the driver creates in the folder for temporary files. Our Chromium has another profile, and the
 * driver does not remove its folder when the service is killed. A profile that a program uses is not empty.
 */
export async function removeDriverFolders(): Promise<void> {
  const parent = tmpdir();
  const names = await readdir(parent).catch(() => []);
  const folders = names.filter((name) => name.startsWith(PREFIX));
  await Promise.all(folders.map((name) => rmdir(join(parent, name)).catch(() => undefined)));
}

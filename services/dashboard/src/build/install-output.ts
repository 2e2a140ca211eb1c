import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Names the sources of an output, inside the output. */
const STAMP = '.sources';

/** Whether the output exists and was built from these sources. */
export async function isBuiltFrom(output: string, sources: string): Promise<boolean> {
  return (await readFile(join(output, STAMP), 'utf8').catch(() => '')) === sources;
}

/**
 * Moves a complete build to the place of the output. Several processes may build at the same time: an output of the same sources stays,
 * because a gateway may be reading it.
 */
export async function installOutput(build: string, output: string, sources: string): Promise<void> {
  await writeFile(join(build, STAMP), sources);
  const previous = `${build}.previous`;
  try {
    let isInstalled = await isBuiltFrom(output, sources);
    while (!isInstalled) {
      // A gateway has opened the directory that it reads, which stays complete under its new name.
      await tryRename(output, previous, ['ENOENT']);
      isInstalled = (await tryRename(build, output, ['ENOTEMPTY', 'EEXIST'])) || (await isBuiltFrom(output, sources));
      await rm(previous, { recursive: true, force: true });
    }
  } finally {
    for (const path of [build, previous]) await rm(path, { recursive: true, force: true });
  }
}

/** Returns whether the directory was renamed. Another process may have removed or replaced the output since it was read. */
async function tryRename(from: string, to: string, expected: readonly string[]): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (!expected.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return false;
  }
}

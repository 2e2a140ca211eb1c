import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tempDir } from '@switchyard/testkit';

const MODULE = 'github.com/go-shiori/go-readability@v0.0.0-20251205110129-5db1dc9836f0';
/** Similar pages have similar names. Every 37th page comes first, so that the first pages are of all kinds. */
const PAGE_STRIDE = 37;

/** Fetches the saved pages of the module and returns their HTML by name. They are not ours to distribute. */
export async function readSavedPages(): Promise<Map<string, string>> {
  await using folder = await tempDir();
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', MODULE], { cwd: folder.path, timeout: 40_000 });
  const pages = join((JSON.parse(stdout) as { Dir: string }).Dir, 'test-pages');
  const entries = await readdir(pages, { withFileTypes: true });
  const names = spread(entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).toSorted());
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(pages, name, 'source.html'), 'utf8')] as const)));
}

/** Returns all names, those far from each other first. */
function spread(names: readonly string[]): string[] {
  const rest = [...names];
  return names.flatMap((_, at) => rest.splice((at * PAGE_STRIDE) % rest.length, 1));
}

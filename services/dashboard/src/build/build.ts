// Builds the dashboard into services/dashboard/dist, unless the output matches the sources.
//   node services/dashboard/src/build/build.ts
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'vite';
import { installOutput, isBuiltFrom } from './install-output.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const OUTPUT = join(ROOT, 'dist');
/** Tells the gateway that a build runs. */
const MARKER = `${OUTPUT}.building`;
const COMPRESSED = /\.(js|css|html|svg)$/;

/** Builds the dashboard and returns whether there was anything to build. */
export async function buildDashboard(): Promise<boolean> {
  const sources = hashSources();
  if (await isBuiltFrom(OUTPUT, sources)) return false;
  const next = `${OUTPUT}.${process.pid}`;
  await writeFile(MARKER, String(process.pid));
  try {
    await build({
      root: ROOT,
      configFile: false,
      base: '/app/',
      logLevel: 'error',
      build: { outDir: next, modulePreload: { polyfill: false } },
    });
    await Promise.all(
      globSync('**/*', { cwd: next })
        .filter((file) => COMPRESSED.test(file))
        .map((file) => compress(join(next, file))),
    );
    await installOutput(next, OUTPUT, sources);
  } finally {
    await rm(next, { recursive: true, force: true });
    await rm(MARKER, { force: true });
  }
  return true;
}

async function compress(file: string): Promise<void> {
  const bytes = await readFile(file);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes, quality), promisify(gzip)(bytes, { level: 9 })]);
  await Promise.all([writeFile(`${file}.br`, br), writeFile(`${file}.gz`, gz)]);
}

/** The page, its sources, the client, and the lock file, which names the versions of the libraries. */
function hashSources(): string {
  const hash = createHash('sha256');
  const patterns = ['index.html', 'src/**/*.{ts,tsx,css}', '../../libs/client/src/*.ts', '../../package-lock.json'];
  for (const file of globSync(patterns, { cwd: ROOT }).sort()) hash.update(file).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex');
}

if (import.meta.main) await buildDashboard();

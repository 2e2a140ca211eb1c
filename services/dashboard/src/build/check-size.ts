// Builds the dashboard and fails when its scripts are larger than the limits.
//   node services/dashboard/src/build/check-size.ts
import { globSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildDashboard } from './build.ts';

/** Compressed bytes of the scripts that the first page loads before it can render. */
const MAX_FIRST_BYTES = 200_000;
/** Compressed bytes of each script that is loaded later. */
const MAX_LATER_BYTES = 120_000;

await buildDashboard();
const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
const page = readFileSync(`${dist}index.html`, 'utf8');
let first = 0;
const faults: string[] = [];
for (const file of globSync('assets/*.js', { cwd: dist })) {
  const { size } = statSync(`${dist}${file}.gz`);
  if (page.includes(file)) first += size;
  else if (size > MAX_LATER_BYTES) faults.push(`${file} has ${size} bytes after gzip, more than ${MAX_LATER_BYTES}`);
}
if (first > MAX_FIRST_BYTES) faults.push(`the first scripts have ${first} bytes after gzip, more than ${MAX_FIRST_BYTES}`);
for (const fault of faults) console.error(`dashboard: ${fault}. Load a library with import() where it is used.`);
if (faults.length === 0) console.log(`dashboard: ${first} bytes of first scripts after gzip`);
process.exitCode = faults.length > 0 ? 1 : 0;

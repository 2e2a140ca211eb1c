// Builds the dashboard and fails when its scripts are larger than the limits.
//   node services/dashboard/src/build/check-size.ts
import { buildDashboard } from './build.ts';
import { readScriptSizes } from './script-sizes.ts';

/** Compressed bytes of the scripts that the first page loads before it can render. */
const MAX_FIRST_BYTES = 200_000;
/** Compressed bytes of each script that is loaded later. */
const MAX_LATER_BYTES = 120_000;

await buildDashboard();
const { first, later } = readScriptSizes();
const faults = [...later]
  .filter(([, size]) => size > MAX_LATER_BYTES)
  .map(([file, size]) => `${file} has ${size} bytes after gzip, more than ${MAX_LATER_BYTES}`);
if (first > MAX_FIRST_BYTES) faults.push(`the first scripts have ${first} bytes after gzip, more than ${MAX_FIRST_BYTES}`);
for (const fault of faults) console.error(`dashboard: ${fault}. Load a library with import() where it is used.`);
if (faults.length === 0) console.log(`dashboard: ${first} bytes of first scripts after gzip`);
process.exitCode = faults.length > 0 ? 1 : 0;

// Fails when a folder has more than 25 source files, or when two folders of a package import each other.
// The faults in layout/exceptions.json are older than the rule. `--write` removes the mended ones.
//   node scripts/check/check-layout.ts [--write]
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { findLayoutFaults } from './layout/folders.ts';

const EXCEPTIONS = new URL('./layout/exceptions.json', import.meta.url);

const paths = execFileSync('git', ['ls-files', '-z', 'libs/*.ts', 'services/*.ts'], { encoding: 'utf8' }).split('\0').filter(Boolean);
const faults = findLayoutFaults(paths.map((path) => ({ path, source: readFileSync(path, 'utf8') })));
const exceptions = JSON.parse(readFileSync(EXCEPTIONS, 'utf8')) as string[];

if (process.argv[2] === '--write') {
  const remainingItems = exceptions.filter((exception) => faults.includes(exception));
  writeFileSync(EXCEPTIONS, `${JSON.stringify(remainingItems, undefined, 2)}\n`);
} else {
  const added = faults.filter((fault) => !exceptions.includes(fault));
  for (const fault of added)
    console.error(`layout: ${fault}. A folder has at most 25 source files, and imports between folders go one way.`);
  if (added.length === 0) console.log(`layout: ${paths.length} files, ${exceptions.length} exceptions`);
  process.exitCode = added.length > 0 ? 1 : 0;
}

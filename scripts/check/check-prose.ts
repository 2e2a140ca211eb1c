// Fails when a package has more unreadable sentences per 100 than its ceiling.
//   node scripts/check/check-prose.ts               compares with prose/ceilings.json
//   node scripts/check/check-prose.ts --write       lowers the ceilings to the rates of today
//   node scripts/check/check-prose.ts --list PATH   prints the unreadable sentences below PATH
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { KINDS, type Kind } from './prose/extract.ts';
import { measureProse, ratePer100 } from './prose/measure.ts';

/** The ceiling of every package that prose/ceilings.json does not name, in unreadable sentences per 100. */
const TARGET = 3;
const CEILINGS = new URL('./prose/ceilings.json', import.meta.url);
const EXCLUDED = /(?:^|\/)(?:fixtures|generated)\/|\.d\.ts$|^CHANGELOG|^LICENSE/;

type Ceilings = Record<string, Partial<Record<Kind, number>>>;

/** `libs/bus/src/index.ts` belongs to `libs/bus`, `docs/guide/x.md` to `docs`, `README.md` to `.`. */
function packageName(path: string): string {
  const [top = '.', second] = path.split('/');
  if (second === undefined) return '.';
  return top === 'libs' || top === 'services' ? `${top}/${second}` : top;
}

const tracked = execFileSync('git', ['ls-files', '-z', '*.ts', '*.mts', '*.js', '*.mjs', '*.md'], { encoding: 'utf8' })
  .split('\0')
  .filter((path) => path !== '' && !EXCLUDED.test(path));
const [option, below] = process.argv.slice(2);
const ceilings = JSON.parse(readFileSync(CEILINGS, 'utf8')) as Ceilings;
const lowered: Ceilings = {};
const failures: string[] = [];

for (const [name, paths] of Object.entries(Object.groupBy(tracked, packageName))) {
  const { rates, found } = measureProse((paths ?? []).map((path) => ({ path, source: readFileSync(path, 'utf8') })));
  if (option === '--list')
    for (const { path, line, kind, sentence, faults } of found)
      if (path.startsWith(below ?? '')) console.log(`${path}:${line} ${kind}: ${sentence}\n    ${faults.join('; ')}`);
  for (const kind of KINDS) {
    const rate = ratePer100(rates[kind]);
    const ceiling = ceilings[name]?.[kind] ?? TARGET;
    if (rate > TARGET) (lowered[name] ??= {})[kind] = Math.min(rate, option === '--write' ? rate : ceiling);
    // One sentence in a small package is more than 3 per 100, and is allowed.
    if (rate > ceiling && rates[kind].unreadable > 1)
      failures.push(`${name}: ${rate} unreadable sentences per 100 in ${kind}, the ceiling is ${ceiling}`);
  }
}

if (option === '--write') writeFileSync(CEILINGS, `${JSON.stringify(lowered, undefined, 2)}\n`);
else if (option !== '--list') {
  for (const failure of failures) console.error(failure);
  if (failures.length > 0) console.error('Print them: node scripts/check/check-prose.ts --list PATH. The rules: CONTRIBUTING.md.');
  else
    console.log(
      `prose: ${tracked.length} files at or below their ceilings; ${Object.keys(ceilings).length} packages are above ${TARGET} per 100`,
    );
  process.exitCode = failures.length > 0 ? 1 : 0;
}

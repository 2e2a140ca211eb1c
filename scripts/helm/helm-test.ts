import { compareGoldens, renderTwice } from './checks/goldens.ts';
import { lintCharts } from './checks/lint.ts';
import { compareHelmVersions, compareReleases } from './checks/releases.ts';
import { tryRefusals } from './checks/refusals.ts';
import { validateSchemas } from './checks/schemas.ts';
import { scoreObjects } from './checks/score.ts';
import { runSuites } from './checks/suites.ts';
import type { ChartCheck } from './checks/context.ts';
import { forEachItem, template } from './helm.ts';
import { readValues, UMBRELLA, valueSets } from './render.ts';
import { installTools } from './tools.ts';

// Tests the charts with Helm, without a cluster: node scripts/helm/helm-test.ts [--write] [check…]. With --write the goldens are replaced.

const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const all: readonly ChartCheck[] = [
  compareGoldens(process.argv.includes('--write')),
  renderTwice,
  tryRefusals,
  validateSchemas,
  scoreObjects,
  runSuites,
  compareHelmVersions,
  compareReleases,
  lintCharts,
];
const checks = all.filter(({ name }) => named.length === 0 || named.includes(name));
if (checks.length === 0) throw new Error(`no check is called ${named.join(', ')}. Checks: ${all.map(({ name }) => name).join(', ')}`);

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};
const tools = installTools(say);
let failures = 0;
const skipped: string[] = [];

const sets = valueSets();
const rendered = await timed(`${UMBRELLA} with ${sets.length} sets of values`, async () => {
  const texts = await forEachItem(sets, (set) => template(tools.helm, UMBRELLA, readValues(set)));
  return new Map(sets.map((set, index) => [set, texts[index] ?? '']));
});
for (const [index, check] of checks.entries()) {
  const obstacle = check.findObstacle?.(tools);
  if (obstacle !== undefined) {
    const reason = tools.missing.find((sentence) => sentence.startsWith(obstacle)) ?? obstacle;
    skipped.push(`${check.name} (${reason})`);
    continue;
  }
  const found = await timed(`${index + 1}/${checks.length} ${check.name}`, () => check.run({ tools, rendered }));
  for (const failure of found) say(`  ${failure}`);
  failures += found.length;
}

for (const one of skipped) console.log(`Not run: ${one}.`);
console.log(`${checks.length - skipped.length} checks of ${sets.length} sets of values, ${skipped.length} not run, ${failures} failures`);
process.exitCode = failures === 0 ? 0 : 1;

async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const begin = performance.now();
  const result = await work();
  say(`${name}: ${((performance.now() - begin) / 1_000).toFixed(1)} s`);
  return result;
}

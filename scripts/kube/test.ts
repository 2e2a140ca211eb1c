import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { insideNetwork } from './network.ts';
import { readMode } from './paths.ts';

// make kube-test: runs tests/kube on the cluster of `make kube`: node scripts/kube/test.ts [file…]

const TESTS = 'tests/kube/*.kube.test.ts';
const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync(TESTS).toSorted();

if (readMode() === undefined) {
  console.error('No cluster runs. Start one with make kube. These tests did not run:');
  for (const file of files) for (const title of listTitles(file)) console.error(`  ${file}: ${title}`);
  process.exitCode = 1;
} else {
  // Suites share the node, so they run one after the other. A spec shows which tests were skipped, and why.
  const flags = ['--test', '--test-concurrency=1', '--test-reporter=spec', '--disable-warning=ExperimentalWarning'];
  const [command = '', ...args] = insideNetwork([process.execPath, ...flags, ...files]);
  process.exitCode = spawnSync(command, args, { stdio: 'inherit' }).status ?? 1;
}

function listTitles(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/\btest\(\s*(['`])(.+?)\1/g)].map(([, , title = '']) => title);
}

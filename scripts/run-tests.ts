import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';

const LEAST_FILES = 60;

const patterns = process.argv.slice(2);
const narrowed = patterns.some((pattern) => !pattern.startsWith('{'));
const files = patterns
  .flatMap((pattern) => globSync(pattern, { exclude: (path) => path.includes('node_modules') || path.includes('fixtures') }))
  .toSorted();
if (files.length < (narrowed ? 1 : LEAST_FILES)) {
  console.error(`only ${files.length} test files match ${patterns.join(' ')}: a run that tests little must not pass`);
  process.exit(1);
}

const flags = ['--test', '--test-concurrency=2', '--test-timeout=120000', '--disable-warning=ExperimentalWarning'];
const tests = spawn(process.execPath, [...flags, ...files], { stdio: 'inherit' });
tests.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal ? 1 : 0);
});

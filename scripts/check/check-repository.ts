import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

// Checks files of the repository and prints one line per fault.
const MAX_LINES = 400;
/** References to documents that are not in this repository. */
const ELSEWHERE =
  /\b(?:[Dd]ocuments? [12]\b|[Tt]ransport rule|[Ff]acts? (?:section )?\d|[Rr]ulings? \d|(?:ARCHITECTURE|RELIABILITY|TURNS|PRODUCT|PERFORMANCE) (?:section )?\d)/;

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(file));
const wrong: string[] = [];

/** The root shows what the product needs. Settings of tools lie in scripts/ or package.json, unless the tool reads the root only. */
const ROOT_ENTRIES: ReadonlySet<string> = new Set(
  ['README.md', 'LICENSE', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'Makefile', 'docker-compose.yml'].concat(
    ['package.json', 'package-lock.json', 'tsconfig.base.json', 'tsconfig.json'],
    ['services', 'libs', 'deploy', 'proto', 'tests', 'bench', 'scripts', 'docs', 'bin', '.github', '.ci'],
    ['.dockerignore', '.gitattributes', '.gitignore', '.npmrc', '.oxfmtrc.json', '.oxlintrc.json'],
  ),
);
for (const entry of new Set(tracked.map((file) => file.split('/')[0] ?? ''))) {
  if (!ROOT_ENTRIES.has(entry)) wrong.push(`${entry} does not belong at the root of the repository; move it into a folder`);
}

for (const file of tracked.filter((name) => /\.(ts|mjs|js)$/.test(name))) {
  const lines = readFileSync(file, 'utf8').split('\n').length - 1;
  if (lines > MAX_LINES) wrong.push(`${file} has ${lines} lines, at most ${MAX_LINES} are allowed; split it by subject`);
}

for (const file of tracked.filter((name) => /\.(ts|mjs|js|md|ya?ml|proto)$/.test(name))) {
  const [cited] = ELSEWHERE.exec(readFileSync(file, 'utf8')) ?? [];
  if (cited !== undefined) wrong.push(`${file} cites "${cited}", which is not in the repository; cite a page of docs/`);
}

const workspaces = tracked
  .filter((file) => /^(libs|services)\/[^/]+\/package\.json$/.test(file))
  .map((file) => file.replace('/package.json', ''));
const owners = readFileSync('.github/CODEOWNERS', 'utf8');
const readme = readFileSync('README.md', 'utf8');
for (const workspace of workspaces) {
  if (!existsSync(`${workspace}/README.md`)) wrong.push(`${workspace} has no README.md`);
  if (!owners.includes(`/${workspace}/`)) wrong.push(`${workspace} has no owner in .github/CODEOWNERS`);
  if (!readme.includes(`](${workspace}/README.md)`)) wrong.push(`${workspace} is not in the README.md of the repository`);
}

const resolved = readFileSync('package-lock.json', 'utf8').match(/"resolved": "[a-z+]*:\/\//g) ?? [];
if (resolved.length > 0)
  wrong.push(`package-lock.json has the download addresses of ${resolved.length} packages; install with the .npmrc of the repository`);

for (const sentence of wrong) console.error(sentence);
process.exitCode = wrong.length > 0 ? 1 : 0;
if (wrong.length === 0) console.log(`repository: ${tracked.length} files, ${workspaces.length} workspaces, all in order`);

// Installs what the lock file names, once per lock file. Plain JavaScript: the system's Node 20 runs it.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const NEEDS = 20;
const RUNS_ON = 24;
const root = fileURLToPath(new URL('..', import.meta.url));
const stampFile = `${root}node_modules/.installed`;
const wanted = process.argv[2] === 'run' ? 'run' : 'all';
// `linked`: the caller has linked a new workspace, so the installed packages match the new lock file.
const linked = process.argv[2] === 'linked';

function stop(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

if (Number(process.versions.node.split('.')[0]) < NEEDS) {
  stop(`Switchyard needs Node ${NEEDS} or newer to install itself; this is ${process.version}. Install a newer one and try again.`);
}

const hash = createHash('sha256')
  .update(readFileSync(`${root}package-lock.json`))
  .digest('hex');
const [stampHash, stampKind] = existsSync(stampFile) ? readFileSync(stampFile, 'utf8').split(' ') : [];
if (linked) {
  writeFileSync(stampFile, `${hash} ${stampKind}`);
} else if (stampHash !== hash || (stampKind !== 'all' && stampKind !== wanted)) {
  process.stderr.write('Installing packages …\n');
  const flags = wanted === 'run' ? ['--omit=dev'] : [];
  const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', ...flags], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (npm.error) stop('npm was not found; it comes with Node. Install it and try again.');
  if (npm.status !== 0) stop('The packages could not be installed; npm says why above. Then run the same command again.');
  writeFileSync(stampFile, `${hash} ${wanted}`);
}

const node = spawnSync(`${root}node_modules/.bin/node`, ['--version'], { encoding: 'utf8' });
const version = node.error ? process.version : node.stdout.trim();
if (Number(version.slice(1).split('.')[0]) < RUNS_ON) {
  stop(`Switchyard runs on Node ${RUNS_ON} or newer; this is ${version}, and no packaged one fits this system. Install Node ${RUNS_ON}.`);
}

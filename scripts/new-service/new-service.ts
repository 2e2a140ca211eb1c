import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newFiles } from './files.ts';
import { readName, type ServiceNames } from './name.ts';
import { registered } from './register.ts';

// Creates a service that passes every check: `make service NAME=notes`.
const root = fileURLToPath(new URL('../..', import.meta.url));
const names = readName(process.env['NAME'] ?? '', root);
if ('refused' in names) {
  console.error(names.refused);
  process.exitCode = 1;
} else {
  try {
    make(names);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\nWhat has been written so far: git status`);
    process.exitCode = 1;
  }
}

function make(service: ServiceNames): void {
  const changed = registered(service, root); // fails before anything is written
  const written = newFiles(service);
  for (const [file, content] of Object.entries({ ...changed, ...written })) {
    mkdirSync(dirname(root + file), { recursive: true });
    writeFileSync(root + file, content);
  }
  install(service.name);
  run(`${root}node_modules/.bin/oxfmt`, Object.keys({ ...changed, ...written }));
  run(process.execPath, ['scripts/contracts/lock-contracts.ts', '--write']);
  run(process.execPath, ['scripts/settings/settings-page.ts', '--write']);
  run(process.execPath, ['scripts/generate/generate.ts', '--write']);
  console.log(
    `services/${service.name} is there, and ${Object.keys(changed).join(', ')} know it. What to do next: docs/guide/extending.md`,
  );
}

/** Links the new workspace into node_modules; it needs no new packages. */
function install(name: string): void {
  run('npm', ['install', '--package-lock-only', '--ignore-scripts', '--offline', '--no-audit', '--no-fund']);
  const link = `${root}node_modules/@switchyard/${name}`;
  rmSync(link, { force: true }); // left by a deleted service of the same name
  symlinkSync(`../../services/${name}`, link);
  run(process.execPath, ['scripts/install.mjs', 'linked']);
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}

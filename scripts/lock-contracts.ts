import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { contractsLock, serializeLock, unserved, type ContractsLock } from '@switchyard/contracts';
import { decideLock } from './decide-lock.ts';
import { findUnserved } from './find-unserved.ts';

// Two snapshots: what is promised (contracts.lock.json), and which of it nobody serves yet (burn-down.ts).
const root = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));
const lockFile = root('contracts.lock.json');
const burnDownFile = root('libs/contracts/src/burn-down.ts');
const writing = process.argv.includes('--write');

lockPromises();
lockUnserved(await findUnserved());

function lockPromises(): void {
  const present = contractsLock();
  const empty: ContractsLock = { methods: {}, operations: {}, events: {} };
  const lock = existsSync(lockFile) ? (JSON.parse(readFileSync(lockFile, 'utf8')) as ContractsLock) : empty;
  const {
    write,
    record,
    refuse: refusal,
  } = decideLock(lock, present, {
    write: writing,
    why: process.env['NARROW'] ?? '',
    day: new Date().toISOString().slice(0, 10),
  });
  if (record !== undefined) appendFileSync(root('contracts.narrowings.txt'), record);
  if (write) {
    writeFileSync(lockFile, serializeLock(present));
    console.log(`contracts.lock.json: ${Object.keys(present.methods).length} methods`);
  }
  if (refusal !== undefined) refuse(refusal);
}

function lockUnserved(names: readonly string[]): void {
  const listed: ReadonlySet<string> = unserved;
  const changes = [
    ...[...listed].filter((name) => !names.includes(name)).map((name) => `${name} is served now, or gone`),
    ...names.filter((name) => !listed.has(name)).map((name) => `${name} is declared, and no service has a handler for it`),
  ];
  if (changes.length === 0) return;
  if (!writing)
    return refuse(`What is served has changed:\n${changes.map((change) => `  ${change}`).join('\n')}\nWrite it down: make lock`);
  writeFileSync(burnDownFile, burnDown(names));
  execFileSync(root('node_modules/.bin/oxfmt'), [burnDownFile]);
  for (const change of changes) console.log(change);
}

function burnDown(names: readonly string[]): string {
  return `import type { MethodName } from './registry.ts';

/**
 * Declared, routed and documented, but not served yet: they answer UNAVAILABLE naming their service.
 * Written by \`make lock\` from what the services serve; a test asks the running product.
 */
const names: readonly MethodName[] = ${JSON.stringify(names)};

export const unserved: ReadonlySet<MethodName> = new Set(names);
`;
}

function refuse(sentence: string): void {
  console.error(sentence);
  process.exitCode = 1;
}

import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { contractsLock, serializeLock, type ContractsLock } from '@switchyard/contracts';
import { decideLock } from './decide-lock.ts';

const root = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));
const file = root('contracts.lock.json');
const present = contractsLock();
const empty: ContractsLock = { methods: {}, operations: {}, events: {} };
const lock = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ContractsLock) : empty;

const { write, record, refuse } = decideLock(lock, present, {
  write: process.argv.includes('--write'),
  why: process.env['NARROW'] ?? '',
  day: new Date().toISOString().slice(0, 10),
});

if (record !== undefined) appendFileSync(root('contracts.narrowings.txt'), record);
if (write) {
  writeFileSync(file, serializeLock(present));
  console.log(`contracts.lock.json: ${Object.keys(present.methods).length} methods`);
}
if (refuse !== undefined) {
  console.error(refuse);
  process.exitCode = 1;
}

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { contractsLock, narrowings, serializeLock, staleLock, type ContractsLock } from '@switchyard/contracts';

const file = fileURLToPath(new URL('../contracts.lock.json', import.meta.url));
const present = contractsLock();
const empty: ContractsLock = { methods: {}, operations: {}, events: {} };
const lock = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ContractsLock) : empty;
const write = process.argv.includes('--write');

const advice = staleLock(lock, present);
if (advice !== undefined && write && narrowings(lock, present).length === 0) {
  writeFileSync(file, serializeLock(present));
  console.log(`contracts.lock.json: ${Object.keys(present.methods).length} methods`);
} else if (advice !== undefined) {
  console.error(advice);
  process.exitCode = 1;
}

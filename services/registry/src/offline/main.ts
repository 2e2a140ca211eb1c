// Program of `switchyard config rollback --offline [version]`. Prints the result, or the error, as one line of JSON.
import { ServiceError } from '@switchyard/contracts';
import { readEnvironment, StartError } from '@switchyard/service-kit';
import { lockDirectory } from '@switchyard/store';
import { rollBackStored, type RolledBack } from './roll-back.ts';

async function run(): Promise<RolledBack> {
  const { data, store } = await readEnvironment(process.env);
  using _lock = store.startsWith('sqlite:') ? lockDirectory(data) : undefined;
  return rollBackStored(store, process.argv[2]);
}

try {
  process.stdout.write(`${JSON.stringify(await run())}\n`);
} catch (error) {
  if (!(error instanceof ServiceError) && !(error instanceof StartError)) throw error;
  process.stdout.write(`${JSON.stringify({ error: error.message })}\n`);
  process.exitCode = 1;
}

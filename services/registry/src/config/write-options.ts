import type { Tree } from '@switchyard/service-kit';
import type { WriteOptions } from './write-config.ts';

/** Params that are a configuration, and beside it what the write says of itself. */
export function splitOptions(params: WriteOptions & object): { options: WriteOptions; written: Tree } {
  const { baseSha, message, dryRun, ...written } = params;
  return { options: { baseSha, message, dryRun }, written };
}

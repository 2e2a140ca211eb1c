import type { Tree } from '@switchyard/service-kit';
import type { WriteOptions } from './write-config.ts';

/** Separates the options of a write from the configuration in its params. */
export function splitOptions(params: WriteOptions & object): { options: WriteOptions; written: Tree } {
  const { baseSha, message, dryRun, ...written } = params;
  return { options: { baseSha, message, dryRun }, written };
}

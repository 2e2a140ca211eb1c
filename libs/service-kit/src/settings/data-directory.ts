import { homedir } from 'node:os';
import { Configuration } from '@switchyard/contracts';
import { readSecret, type Variables } from '../variables/secret-variables.ts';
import { readFileLayers } from './file-layer.ts';

const HOME = /^~(?=\/|$)/;

/**
 * Reads the setting `dataDir` from the environment, or else from the last file that sets it. It is read before the rest of the
 * configuration, because other paths depend on it; an invalid value is rejected with the rest of the configuration.
 */
export async function readDataDir(variables: Variables, files: readonly string[] | undefined): Promise<string | undefined> {
  const schema = Configuration;
  const text =
    (await readSecret(variables, 'SWITCHYARD_DATA_DIR')) ??
    (await readFileLayers(files, { variables, schema })).map(dirIn).findLast(Boolean);
  return text?.replace(HOME, homedir());
}

function dirIn({ tree }: { tree: Readonly<Record<string, unknown>> }): string | undefined {
  return Configuration.shape.dataDir.safeParse(tree['dataDir']).data;
}

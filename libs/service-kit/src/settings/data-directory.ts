import { homedir } from 'node:os';
import { Configuration } from '@switchyard/contracts';
import { readSecret, type Variables } from '../variables/secret-variables.ts';
import { readFileLayers } from './file-layer.ts';

const HOME = /^~(?=\/|$)/;

/**
 * The data directory that the setting `dataDir` names, in the environment or else in the last file that says it. It is looked for
 * before anything else, because all else is in it; what is no directory is refused with the rest of the configuration.
 */
export async function readDataDir(variables: Variables, files: readonly string[] | undefined): Promise<string | undefined> {
  const schema = Configuration;
  const said =
    (await readSecret(variables, 'SWITCHYARD_DATA_DIR')) ??
    (await readFileLayers(files, { variables, schema })).map(dirIn).findLast(Boolean);
  return said?.replace(HOME, homedir());
}

function dirIn({ tree }: { tree: Readonly<Record<string, unknown>> }): string | undefined {
  return Configuration.shape.dataDir.safeParse(tree['dataDir']).data;
}

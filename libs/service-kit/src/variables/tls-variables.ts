import { readNamedFile, type Variables } from './secret-variables.ts';
import { StartError } from './start-error.ts';

/** Texts in PEM: whose certificates the other side may have, and ours with its key. */
export interface TlsTexts {
  ca?: string;
  cert?: string;
  key?: string;
}

/** The variables of one connection, each the name of a file. */
export interface TlsVariables {
  ca: string;
  cert: string;
  key: string;
}

export async function readTls(env: Variables, names: TlsVariables): Promise<TlsTexts> {
  const [ca, cert, key] = await Promise.all([names.ca, names.cert, names.key].map((name) => readNamedFile(env, name)));
  if ((cert === undefined) !== (key === undefined)) throw new StartError(`${names.cert} and ${names.key} are set together or not at all.`);
  return { ...(ca === undefined ? {} : { ca }), ...(cert === undefined || key === undefined ? {} : { cert, key }) };
}

import { readNamedFile, type Variables } from './secret-variables.ts';
import { StartError } from './start-error.ts';

/** PEM texts: the certificate authority of the peer, and our certificate with its key. */
export interface TlsTexts {
  ca?: string;
  cert?: string;
  key?: string;
}

/** Variables of one connection; each contains a file name. */
export interface TlsVariables {
  ca: string;
  cert: string;
  key: string;
}

export async function readTls(env: Variables, names: TlsVariables): Promise<TlsTexts> {
  const [ca, cert, key] = await Promise.all([names.ca, names.cert, names.key].map((name) => readNamedFile(env, name)));
  if ((cert === undefined) !== (key === undefined)) throw new StartError(`${names.cert} and ${names.key} must be set together.`);
  return { ...(ca === undefined ? {} : { ca }), ...(cert === undefined || key === undefined ? {} : { cert, key }) };
}

import { join } from 'node:path';
import { isBlobUrl } from '@switchyard/blob';
import { MIN_OPERATOR_TOKEN } from '@switchyard/security';
import { readSecret, type Variables } from './secret-variables.ts';
import { readTls, type TlsTexts } from './tls-variables.ts';
import { StartError } from './start-error.ts';

/** The blob store of the process, and the server for other processes. */
export interface BlobAccess {
  url: string;
  /** Credential of services at the blob stores of other processes. */
  token: string | undefined;
  /** Undefined if the store is not served; 0 selects a free port. */
  port: number | undefined;
  host: string;
  tls: TlsTexts;
  maxBytes: number | undefined;
  maxKeptBytes: number | undefined;
}

const BLOBS = 'SWITCHYARD_BLOBS';
const TOKEN = 'SWITCHYARD_BLOB_TOKEN';
const PORT = 'SWITCHYARD_BLOB_PORT';
const HOST = 'SWITCHYARD_BLOB_HOST';
const MAX_BYTES = 'SWITCHYARD_BLOB_MAX_BYTES';
const TENANT_BYTES = 'SWITCHYARD_BLOB_TENANT_BYTES';
const CA = 'SWITCHYARD_BLOB_TLS_CA';
const CERT = 'SWITCHYARD_BLOB_TLS_CERT';
const KEY = 'SWITCHYARD_BLOB_TLS_KEY';

const LOOPBACK = '127.0.0.1';
const HOST_NAME = /^[A-Za-z0-9.:_-]{1,255}$/;
const MAX_PORT = 65_535;

/** Help texts. */
export const BLOB_VARIABLE_HELP: Readonly<Record<string, { preset: string; means: string }>> = {
  [BLOBS]: {
    preset: 'file: in the data directory',
    means:
      'store for large payloads: `file:DIR`, `mongodb://…/name` (GridFS), or `grpc://host:port` or `grpcs://…` of another process (`grpc://host:port,host:port` for several with one store)',
  },
  [TOKEN]: { preset: 'none', means: 'credential of services at the blob store of another process; at least 32 characters' },
  [PORT]: { preset: 'off', means: 'port that serves the blob store of this process over gRPC, with the token; 0 selects a free port' },
  [HOST]: { preset: LOOPBACK, means: 'listener address of that port' },
  [MAX_BYTES]: { preset: '268435456', means: 'maximum size of a blob' },
  [TENANT_BYTES]: { preset: '17179869184', means: 'maximum size of all files that a tenant keeps without a time limit or until a date' },
  [CA]: { preset: 'none', means: 'PEM file: certificate authority of the other side' },
  [CERT]: { preset: 'none', means: 'PEM file: certificate of this side; the port then requires TLS' },
  [KEY]: { preset: 'none', means: 'PEM file: key of that certificate' },
};

/** Reads the blob variables. Throws a `StartError` that names an invalid variable. */
export async function readBlobAccess(env: Variables, data: string): Promise<BlobAccess> {
  const [input = 'file:', token, port = 'off', host = LOOPBACK, maxBytes, tenantBytes] = await Promise.all(
    [BLOBS, TOKEN, PORT, HOST, MAX_BYTES, TENANT_BYTES].map((name) => readSecret(env, name)),
  );
  const url = input === 'file:' ? `file:${join(data, 'blobs')}` : input;
  if (!isBlobUrl(url)) throw new StartError(`${BLOBS} must be file:DIR, mongodb://host:port, grpc://host:port or grpcs://host:port.`);
  if (token !== undefined && token.length < MIN_OPERATOR_TOKEN)
    throw new StartError(`${TOKEN} must have at least ${MIN_OPERATOR_TOKEN} characters.`);
  if (!HOST_NAME.test(host)) throw new StartError(`${HOST} must be an address or a host name, without a port.`);
  const tls = await readTls(env, { ca: CA, cert: CERT, key: KEY });
  const access: BlobAccess = {
    url,
    token,
    host,
    port: readPort(port),
    maxBytes: readBytes(MAX_BYTES, maxBytes),
    maxKeptBytes: readBytes(TENANT_BYTES, tenantBytes),
    tls,
  };
  const tokenUser = url.startsWith('grpc') ? BLOBS : access.port === undefined ? undefined : PORT;
  if (tokenUser !== undefined && token === undefined)
    throw new StartError(`${tokenUser} needs ${TOKEN}; without it every request is refused.`);
  if (access.port !== undefined && tokenUser === BLOBS)
    throw new StartError(`${BLOBS} names another process, so ${PORT} cannot serve a store. Unset one of them.`);
  return access;
}

function readPort(text: string): number | undefined {
  if (text === 'off') return undefined;
  if (/^\d{1,5}$/.test(text) && Number(text) <= MAX_PORT) return Number(text);
  throw new StartError(`${PORT} must be a port, 0 for a free one, or off.`);
}

function readBytes(name: string, text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]\d{0,14}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new StartError(`${name} must be a number of bytes, 1 or more.`);
}

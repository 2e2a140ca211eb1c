import { ServiceError } from '@switchyard/contracts';
import { createDecryptionKey, deriveKey, readMasterKey, type DecryptionKey, type SealingKey } from '@switchyard/security';
import { readSecret, StartError, type Variables } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { DataKeyDocument, SecretDocument } from '../documents/collections.ts';
import { auditSeal, isSealed, openDataKey, type AuditSeal, type MasterKeys } from './data-key.ts';
import { openEnvFile } from './env-file-storage.ts';
import { createSealedValues } from './encrypted-storage.ts';
import type { Values } from './secret-storage.ts';

interface Given {
  secrets: Collection<SecretDocument>;
  dataKeys: Collection<DataKeyDocument>;
  store: Pick<Store, 'now'>;
  tenant: string;
  env: Variables;
  /** Of a process that keeps all it has on this machine alone. */
  envFile: string | undefined;
  /** They are sealed, or there are none: no file in clear text. */
  demanded: boolean;
  /** Whether what has this name is kept and read sealed or not at all. */
  mustBeSealed: (name: string) => boolean;
  log: Logger;
}

/** Every place where a value may be, strongest first, and the one that is written to. */
export interface OpenedValues {
  places: readonly Values[];
  /** What the record of what was done is sealed with. Undefined without a master key. */
  auditSeal: AuditSeal | undefined;
  /** Decrypts the params that callers encrypt to this service. The same at every replica that has the master key. */
  paramsKey: DecryptionKey;
  /** Without a master key: whether another replica has one by now, and seals what this one could not. */
  sealedElsewhere: () => Promise<boolean>;
  /** For what has this name. Throws where there is none. */
  writable(name?: string): Values;
  mustBeSealed: (name: string) => boolean;
}

const PARAMS_KEY = 'switchyard/params-key/v1';
/** Without a master key only one process writes secrets, so the key of that process is enough. */
let processKey: DecryptionKey | undefined;

/** Sealed where there is a master key, else in a file where there may be one. Refuses to start without the key of what is sealed. */
export async function openValues(given: Given): Promise<OpenedValues> {
  const { secrets, dataKeys, store, tenant, env, demanded, mustBeSealed, log } = given;
  const envFile = demanded ? undefined : given.envFile;
  const masters = await readMasterKeys(env);
  if (masters === undefined && demanded) throw new StartError(DEMANDED);
  const documents = secrets.for({ tenant });
  const keys = dataKeys.for({ tenant });
  if (masters === undefined && (await isSealed(keys))) throw new StartError((await documents.count({})) > 0 ? SEALED : SEALED_RECORD);
  const key = masters && (await openDataKey(keys, masters, { tenant, store }));
  const sealed = key && createSealedValues({ documents, key, tenant, store });
  const file = envFile === undefined ? undefined : openEnvFile(envFile);
  if (sealed === undefined && file !== undefined)
    log.warn({ envFile }, 'SECRETS_MASTER_KEY is not set: what env.set is told is kept in a file, in clear text');
  const places = [sealed, file].filter((place) => place !== undefined);
  return {
    places,
    paramsKey: key === undefined ? (processKey ??= createDecryptionKey()) : createDecryptionKey(deriveKey(key, PARAMS_KEY)),
    auditSeal: key && (await auditSeal(keys, key)),
    sealedElsewhere: async () => key === undefined && (await isSealed(keys)),
    mustBeSealed,
    writable(name = '') {
      const onlySealed = mustBeSealed(name);
      const place = onlySealed ? sealed : places[0];
      if (place !== undefined) return place;
      const why = onlySealed ? `oauth.storage is encrypted, and ${NO_KEY}` : NONE;
      throw new ServiceError('FAILED_PRECONDITION', why, { details: { reason: 'NO_MASTER_KEY' } });
    },
  };
}

const SEALED = 'There are sealed secrets, and SECRETS_MASTER_KEY is not set: set the one they are sealed with.';
const SEALED_RECORD =
  'The record of what was done is sealed with a master key, and SECRETS_MASTER_KEY is not set: set the one it was started with before.';
const NO_KEY = 'there is no master key: give the secrets service SECRETS_MASTER_KEY (openssl rand -hex 32) and start it again.';
const NONE = `A file is for one process alone, and ${NO_KEY}`;
const DEMANDED = `security.secrets.enabled is true, and ${NO_KEY}`;

async function readMasterKeys(env: Variables): Promise<MasterKeys | undefined> {
  const current = await readKey(env, 'SECRETS_MASTER_KEY');
  const previous = await readKey(env, 'SECRETS_MASTER_KEY_PREVIOUS');
  return current && { current, previous };
}

async function readKey(env: Variables, name: string): Promise<SealingKey | undefined> {
  const text = await readSecret(env, name);
  if (text === undefined) return undefined;
  const key = readMasterKey(text);
  if (key !== undefined) return key;
  throw new StartError(`${name} must be 32 random bytes, as 64 hexadecimal digits or 44 of base64: openssl rand -hex 32.`);
}

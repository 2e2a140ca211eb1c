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
  /** Clear-text storage of an installation in one process. */
  envFile: string | undefined;
  /** Whether a master key is mandatory (`security.secrets.enabled`). */
  demanded: boolean;
  /** Whether a secret of this name may only be stored and read encrypted. */
  mustBeSealed: (name: string) => boolean;
  log: Logger;
}

/** The storages of secret values. */
export interface OpenedValues {
  /** In the order in which they are read. */
  places: readonly Values[];
  /** Signs audit records. Undefined without a master key. */
  auditSeal: AuditSeal | undefined;
  /** Decrypts the params that callers encrypt to this service. The same at every replica that has the master key. */
  paramsKey: DecryptionKey;
  /** Whether another replica has a master key and this one has none. */
  sealedElsewhere: () => Promise<boolean>;
  /** The storage that a secret of this name is written to. Throws if there is none. */
  writable(name?: string): Values;
  mustBeSealed: (name: string) => boolean;
}

const PARAMS_KEY = 'switchyard/params-key/v1';
/** Without a master key only one process writes secrets, so the key of that process is enough. */
let processKey: DecryptionKey | undefined;

/**
 * Opens encrypted storage if there is a master key, else the file if one is allowed. Throws a StartError if encrypted data exists and
 * the key is missing.
 */
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
    log.warn({ envFile }, 'SECRETS_MASTER_KEY is not set; env.set stores secrets in a file in clear text');
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

const SEALED = 'The stored secrets are encrypted, and SECRETS_MASTER_KEY is not set. Set the key that they are encrypted with.';
const SEALED_RECORD =
  'The audit log is signed with a master key, and SECRETS_MASTER_KEY is not set. Set the key of the previous start.';
const NO_KEY = 'there is no master key. Set SECRETS_MASTER_KEY for the secrets service (openssl rand -hex 32) and restart it.';
const NONE = `A cluster cannot store secrets in a file, and ${NO_KEY}`;
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
  throw new StartError(`${name} must be 32 random bytes in hexadecimal (64 digits) or base64 (44). Create it with: openssl rand -hex 32`);
}

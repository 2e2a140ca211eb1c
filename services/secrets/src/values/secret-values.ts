import { ServiceError, type ServiceName } from '@switchyard/contracts';
import { createDecryptionKey, deriveKey, readMasterKey, type DecryptionKey, type EncryptionKey } from '@switchyard/security';
import { readSecret, StartError, type Variables } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { DataKeyDocument, SecretDocument } from '../documents/collections.ts';
import { loadAuditKey, isEncrypted, openDataKey, type AuditKey, type MasterKeys } from './data-key.ts';
import { openEnvFileStorage } from './env-file-storage.ts';
import { createEncryptedStorage } from './encrypted-storage.ts';
import type { SecretStorage } from './secret-storage.ts';

interface OpenSecretValuesOptions {
  secrets: Collection<SecretDocument>;
  dataKeys: Collection<DataKeyDocument>;
  store: Pick<Store, 'now'>;
  tenant: string;
  env: Variables;
  /** Clear-text storage of an installation in one process. */
  envFile: string | undefined;
  /** Whether a master key is mandatory (`security.secrets.enabled`). */
  encryptionRequired: boolean;
  /** Whether a secret of this name may only be stored and read encrypted. */
  requiresEncryption: (name: string) => boolean;
  log: Logger;
}

/** The storages of secret values. */
export interface SecretValues {
  /** In the order in which they are read. */
  storages: readonly SecretStorage[];
  /** Signs audit records. Undefined without a master key. */
  auditKey: AuditKey | undefined;
  /** Decrypts the params that callers encrypt to this service. The same at every replica that has the master key. */
  paramsKey: DecryptionKey;
  /** Returns the key with which a service encrypts its own documents. Undefined without a master key. */
  deriveStorageKey(service: ServiceName): Uint8Array | undefined;
  /** Whether another replica has a master key and this one has none. */
  isEncryptedElsewhere: () => Promise<boolean>;
  /** The storage that a secret of this name is written to. Throws if there is none. */
  getWritableStorage(name?: string): SecretStorage;
  requiresEncryption: (name: string) => boolean;
}

const STORAGE_KEY = 'switchyard/storage-key/v1';
const PARAMS_KEY = 'switchyard/params-key/v1';
/** Without a master key only one process writes secrets, so the key of that process is enough. */
let processKey: DecryptionKey | undefined;

/**
 * Opens encrypted storage if there is a master key, else the file if one is allowed. Throws a StartError if encrypted data exists and
 * the key is missing.
 */
export async function openSecretValues(options: OpenSecretValuesOptions): Promise<SecretValues> {
  const { secrets, dataKeys, store, tenant, env, encryptionRequired, requiresEncryption, log } = options;
  const envFile = encryptionRequired ? undefined : options.envFile;
  const masterKeys = await readMasterKeys(env);
  if (masterKeys === undefined && encryptionRequired) throw new StartError(ENCRYPTION_REQUIRED);
  const documents = secrets.for({ tenant });
  const dataKeyDocuments = dataKeys.for({ tenant });
  if (masterKeys === undefined && (await isEncrypted(dataKeyDocuments)))
    throw new StartError((await documents.count({})) > 0 ? MISSING_KEY : MISSING_AUDIT_KEY);
  const key = masterKeys && (await openDataKey(dataKeyDocuments, masterKeys, { tenant, store }));
  const encrypted = key && createEncryptedStorage({ documents, key, tenant, store });
  const file = envFile === undefined ? undefined : openEnvFileStorage(envFile);
  if (encrypted === undefined && file !== undefined)
    log.warn({ envFile }, 'SECRETS_MASTER_KEY is not set; env.set stores secrets in a file in clear text');
  const storages = [encrypted, file].filter((storage) => storage !== undefined);
  return {
    storages,
    paramsKey: key === undefined ? (processKey ??= createDecryptionKey()) : createDecryptionKey(deriveKey(key, PARAMS_KEY)),
    auditKey: key && (await loadAuditKey(dataKeyDocuments, key)),
    // Derived from the data key, so that it stays the same when the master key changes.
    deriveStorageKey: (service) => key && deriveKey(key, `${STORAGE_KEY}/${service}`),
    isEncryptedElsewhere: async () => key === undefined && (await isEncrypted(dataKeyDocuments)),
    requiresEncryption,
    getWritableStorage(name = '') {
      const encryptedOnly = requiresEncryption(name);
      const storage = encryptedOnly ? encrypted : storages[0];
      if (storage !== undefined) return storage;
      const reason = encryptedOnly ? `oauth.storage is encrypted, and ${NO_MASTER_KEY}` : NO_STORAGE;
      throw new ServiceError('FAILED_PRECONDITION', reason, { details: { reason: 'NO_MASTER_KEY' } });
    },
  };
}

const MISSING_KEY = 'The stored secrets are encrypted, and SECRETS_MASTER_KEY is not set. Set the key that they are encrypted with.';
const MISSING_AUDIT_KEY =
  'The audit log is signed with a master key, and SECRETS_MASTER_KEY is not set. Set the key of the previous start.';
const NO_MASTER_KEY = 'the master key is missing. Set SECRETS_MASTER_KEY for the secrets service (openssl rand -hex 32) and restart it.';
const NO_STORAGE = `A cluster cannot store secrets in a file, and ${NO_MASTER_KEY}`;
const ENCRYPTION_REQUIRED = `security.secrets.enabled is true, and ${NO_MASTER_KEY}`;

async function readMasterKeys(env: Variables): Promise<MasterKeys | undefined> {
  const current = await readKey(env, 'SECRETS_MASTER_KEY');
  const previous = await readKey(env, 'SECRETS_MASTER_KEY_PREVIOUS');
  return current && { current, previous };
}

async function readKey(env: Variables, name: string): Promise<EncryptionKey | undefined> {
  const text = await readSecret(env, name);
  if (text === undefined) return undefined;
  const key = readMasterKey(text);
  if (key !== undefined) return key;
  throw new StartError(`${name} must be 32 random bytes in hexadecimal (64 digits) or base64 (44). Create it with: openssl rand -hex 32`);
}

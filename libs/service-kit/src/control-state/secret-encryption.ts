import type { Bus } from '@switchyard/bus';
import { ServiceError, type SecretAsker, type SecretPurpose, type ServiceName } from '@switchyard/contracts';
import { createDecryptionKey, encryptTo, mintId, type EncryptionKey, type JweBinding } from '@switchyard/security';
import { hideValue } from '@switchyard/telemetry';

/** Returns the value of a secret, or null if it is not set. A provider key is requested with the origin that it will be sent to. */
export type SecretReader = (name: string, origin?: string, purpose?: SecretPurpose) => Promise<string | null>;

/**
 * Reads secrets for a service. Values cross the bus encrypted to this process and bound to the request, so a recorded or foreign
 * answer is rejected. Values that were read are masked in the logs of this process.
 */
export function createSecretReader(bus: Pick<Bus, 'call'>, service: ServiceName): SecretReader {
  const recipient = createSecretRecipient(service);
  return async (name, origin, purpose) => {
    const to = recipient.createRequest();
    const { value } = await bus.call('secrets.resolve', {
      name,
      ...(origin === undefined ? {} : { origin }),
      ...(purpose === undefined ? {} : { purpose }),
      to,
    });
    return value === null ? null : recipient.decrypt(name, value, to);
  };
}

/** Stands in the place of a secret's name where the storage key is encrypted; no secret has such a name. */
export const STORAGE_KEY_NAME = 'storage-key';

/** Returns the key with which this service encrypts what it stores. Undefined if the installation has no master key. */
export type StorageKeyReader = () => Promise<EncryptionKey | undefined>;

const MISSING_KEY_TTL_MS = 60_000;
const STORAGE_KEY_TIMEOUT_MS = 5_000;

/** Reads the storage key of a service once. A failed request is repeated by the next call, a missing key is requested again after a minute. */
export function createStorageKeyReader(bus: Pick<Bus, 'call'>, service: ServiceName): StorageKeyReader {
  const recipient = createSecretRecipient(service);
  let known: EncryptionKey | undefined;
  let missingUntil = 0;
  return async () => {
    if (known || performance.now() < missingUntil) return known;
    const to = recipient.createRequest();
    const { key } = await bus.call('secrets.storageKey', { to }, { timeoutMs: STORAGE_KEY_TIMEOUT_MS });
    if (key === null) {
      missingUntil = performance.now() + MISSING_KEY_TTL_MS;
      return undefined;
    }
    const text = await recipient.decrypt(STORAGE_KEY_NAME, key, to);
    return (known = { id: STORAGE_KEY_NAME, bytes: Buffer.from(text, 'base64url') });
  };
}

/** Requests encrypted secrets and decrypts them. */
export interface SecretRecipient {
  /** The public key and a new nonce for one request. */
  createRequest(): SecretAsker;
  /** Throws DATA_LOSS if the value was not encrypted for this request. */
  decrypt(name: string, jwe: string, request: SecretAsker): Promise<string>;
}

export function createSecretRecipient(service: ServiceName): SecretRecipient {
  const key = createDecryptionKey();
  return {
    createRequest: () => ({ service, key: key.publicKey, nonce: mintId('ask') }),
    async decrypt(name, jwe, request) {
      const plaintext = await key.decrypt(jwe, bindSecret(name, request));
      if (plaintext === undefined) throw notEncryptedForRequest(name);
      const value = Buffer.from(plaintext).toString();
      hideValue(value);
      return value;
    },
  };
}

/** Encrypts a secret to the process that requested it. */
export async function encryptSecret(name: string, value: string, request: SecretAsker): Promise<string> {
  const jwe = await encryptTo(request.key, Buffer.from(value), bindSecret(name, request));
  if (jwe !== undefined) return jwe;
  throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: to.key: expected an X25519 public key');
}

function bindSecret(name: string, { service, nonce }: SecretAsker): JweBinding {
  return { method: 'secrets.resolve', service, nonce, name };
}

function notEncryptedForRequest(name: string): ServiceError {
  return new ServiceError('DATA_LOSS', `The value of the secret ${name} was not encrypted for this request and is discarded.`, {
    details: { reason: 'NOT_SEALED' },
  });
}

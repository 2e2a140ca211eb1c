import type { Handler, ParamsDecryption } from '@switchyard/bus';
import type { Store } from '@switchyard/store';
import type { SecretValues } from '../values/secret-values.ts';

/** Params encrypted to a key that was issued longer ago are rejected, so that a recorded call cannot be replayed later. */
const MAX_KEY_AGE_MS = 60_000;

interface SealingKeyDeps {
  values: Pick<SecretValues, 'paramsKey' | 'getWritableStorage'>;
  store: Pick<Store, 'now'>;
}

/** Every replica with the same master key returns the same key. */
export function secretsSealingKey({ values, store }: SealingKeyDeps): Handler<'secrets.sealingKey'> {
  return () => ({ key: values.paramsKey.publicKey, at: store.now() });
}

/** Decrypts params. If that fails where no value can be stored, the error says why no value can be stored. */
export function createParamsDecryption({ values, store }: SealingKeyDeps): ParamsDecryption {
  return {
    isFresh: (keyIssuedAt) => Math.abs(store.now() - keyIssuedAt) <= MAX_KEY_AGE_MS,
    key: {
      async decrypt(jwe, binding) {
        const plaintext = await values.paramsKey.decrypt(jwe, binding);
        if (plaintext === undefined) values.getWritableStorage();
        return plaintext;
      },
    },
  };
}

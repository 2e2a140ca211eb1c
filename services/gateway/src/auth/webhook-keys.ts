import type { Bus } from '@switchyard/bus';
import { ServiceError, type SecretRef } from '@switchyard/contracts';
import { followSecrets, createSecretRecipient, type Settings } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';

/** Cache TTL, for changes that were missed while the bus was unavailable. */
const CACHE_TTL_MS = 30_000;

/** The signing keys named by the webhook configuration, kept only in memory. */
export interface WebhookKeys extends Disposable {
  /** Resolves a key. Fails with UNAVAILABLE while the secrets service does not answer, and with FAILED_PRECONDITION for an unset key. */
  resolve(ref: SecretRef): Promise<string>;
}

type KeyValues = ReadonlyMap<string, string | null>;

/** Fetches the keys on first use, and again after a secret or the configuration has changed. */
export async function openWebhookKeys({
  bus,
  settings,
  log,
}: {
  bus: Bus;
  settings: Settings<'webhooks'>;
  log: Logger;
}): Promise<WebhookKeys> {
  let cached: { keys: Promise<KeyValues>; expiresAt: number } | undefined;
  const recipient = createSecretRecipient('gateway');
  const forget = (): void => void (cached = undefined);
  const watch = await followSecrets(bus, forget);
  const stop = settings.onChange(forget);

  async function fetchKeys(): Promise<KeyValues> {
    const keyRequest = recipient.createRequest();
    const { keys } = await bus.call('secrets.webhookKeys', { to: keyRequest });
    const decrypted = keys.map(
      async ({ name, value }) => [name, value === null ? null : await recipient.decrypt(name, value, keyRequest)] as const,
    );
    return new Map(await Promise.all(decrypted));
  }

  async function getKeys(): Promise<KeyValues> {
    if (cached === undefined || cached.expiresAt <= performance.now())
      cached = { keys: fetchKeys(), expiresAt: performance.now() + CACHE_TTL_MS };
    const entry = cached;
    try {
      return await entry.keys;
    } catch (error) {
      if (cached === entry) forget();
      throw error;
    }
  }

  return {
    async resolve(ref) {
      if (typeof ref === 'string') return ref;
      if (ref.source !== 'env') throw createKeyError(`webhook keys of source ${ref.source} are not supported; use source env`);
      const value = (await getKeys()).get(ref.id);
      if (typeof value === 'string') return value;
      log.warn({ key: ref.id }, 'a webhook key is not set');
      forget();
      throw value === null ? createKeyError(`The webhook key ${ref.id} is not set.`) : createKeyPendingError();
    },
    [Symbol.dispose]() {
      stop();
      watch[Symbol.dispose]();
    },
  };
}

function createKeyError(message: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'WEBHOOK_KEY' } });
}

/** The secrets service may still have the previous configuration. */
function createKeyPendingError(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The webhook key is not available yet.', { details: { retryAfterMs: 1_000 } });
}

import type { Bus } from '@switchyard/bus';
import { ServiceError, type SecretRef } from '@switchyard/contracts';
import { followSecrets, createSecretRecipient, type Settings } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';

/** What was not heard of, because the bus was away, holds for no longer. */
const KEPT_MS = 30_000;

/** The keys that the configuration of webhooks names, kept in memory alone. */
export interface HookKeys extends Disposable {
  /** UNAVAILABLE while nobody can say what it is; a name that stands for nothing is FAILED_PRECONDITION. */
  of(ref: SecretRef): Promise<string>;
}

type Known = ReadonlyMap<string, string | null>;

/** Asks the owner of secrets when a key is needed first, and again when a secret or the configuration has changed. */
export async function openHookKeys({ bus, settings, log }: { bus: Bus; settings: Settings<'webhooks'>; log: Logger }): Promise<HookKeys> {
  let known: { keys: Promise<Known>; until: number } | undefined;
  const recipient = createSecretRecipient('gateway');
  const forget = (): void => void (known = undefined);
  const watch = await followSecrets(bus, forget);
  const stop = settings.onChange(forget);

  async function ask(): Promise<Known> {
    const to = recipient.createRequest();
    const { keys } = await bus.call('secrets.webhookKeys', { to });
    const decrypted = keys.map(
      async ({ name, value }) => [name, value === null ? null : await recipient.decrypt(name, value, to)] as const,
    );
    return new Map(await Promise.all(decrypted));
  }

  async function current(): Promise<Known> {
    if (known === undefined || known.until <= performance.now()) known = { keys: ask(), until: performance.now() + KEPT_MS };
    const mine = known;
    try {
      return await mine.keys;
    } catch (error) {
      if (known === mine) forget();
      throw error;
    }
  }

  return {
    async of(ref) {
      if (typeof ref === 'string') return ref;
      if (ref.source !== 'env') throw noKey(`webhooks name a key of the source ${ref.source}; only env is read`);
      const value = (await current()).get(ref.id);
      if (typeof value === 'string') return value;
      log.warn({ key: ref.id }, 'webhooks name a key that is not set');
      forget();
      throw value === null ? noKey(`The key ${ref.id} of webhooks is not set.`) : notYet();
    },
    [Symbol.dispose]() {
      stop();
      watch[Symbol.dispose]();
    },
  };
}

function noKey(message: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'WEBHOOK_KEY' } });
}

/** The owner of secrets has an older configuration, for a moment. */
function notYet(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The key of webhooks is not known yet.', { details: { retryAfterMs: 1_000 } });
}

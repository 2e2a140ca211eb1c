import type { Handler } from '@switchyard/bus';
import { MAX, type Sections } from '@switchyard/contracts';
import { encryptSecret, StartError, type Settings, type Variables } from '@switchyard/service-kit';
import type { Store } from '@switchyard/store';
import { hideValue } from '@switchyard/telemetry';
import type { SecretBindings } from '../values/secret-bindings.ts';
import type { SecretValues } from '../values/secret-values.ts';
import { readValue } from '../values/read-value.ts';
import { createAccessReporter, isReservedName } from '../values/secret-access.ts';

interface WebhookKeysDeps {
  values: SecretValues;
  env: Variables;
  bindings: Pick<SecretBindings, 'allows'>;
  settings: Settings<'webhooks'>;
  store: Pick<Store, 'now'>;
}

/** Returns only the secrets that the section `webhooks` names, because the gateway is exposed to every client. */
export function secretsWebhookKeys({ values, env, bindings, settings, store }: WebhookKeysDeps): Handler<'secrets.webhookKeys'> {
  const report = createAccessReporter(store);
  return async ({ to }, ctx) => {
    const keys = [];
    for (const name of [...listReferencedNames(settings.current.webhooks)].slice(0, MAX.words)) {
      const denied = isReservedName(name) || !(await bindings.allows(name, 'webhook'));
      const value = denied ? undefined : omitLong(await read(name, ctx.log));
      report(ctx, name, denied ? 'denied' : value === undefined ? 'not_found' : 'success');
      if (value !== undefined) hideValue(value);
      keys.push({ name, value: value === undefined ? null : await encryptSecret(name, value, to) });
    }
    return { keys };
  };

  /** An unreadable secret is logged and does not fail the others. */
  async function read(name: string, log: { error(fields: object, text: string): void }): Promise<string | undefined> {
    try {
      return await readValue({ values, env }, name);
    } catch (err) {
      if (!(err instanceof StartError)) throw err;
      log.error({ err, name }, 'failed to read a secret');
      return undefined;
    }
  }
}

/** Omits long values, so that the answer is never stored as a blob. */
function omitLong(value: string | undefined): string | undefined {
  return value !== undefined && value.length <= MAX.name ? value : undefined;
}

function listReferencedNames({ token, hmac, mappings }: Sections['webhooks']): Set<string> {
  const refs = [token, hmac.secret, ...mappings.map(({ secret }) => secret)];
  return new Set(refs.flatMap((ref) => (typeof ref === 'object' && ref.source === 'env' ? [ref.id] : [])));
}

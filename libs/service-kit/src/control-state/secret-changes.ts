import type { Bus } from '@switchyard/bus';
import { SECRETS_BUCKET } from '@switchyard/contracts';

/** Calls `onChange` whenever a secret was set, so that a cache can be cleared. Notifications may be lost; caches need a TTL as well. */
export async function followSecrets(bus: Bus, onChange: () => void): Promise<Disposable> {
  let ready = false;
  const watch = await (await bus.kv(SECRETS_BUCKET)).watch(() => ready && onChange());
  ready = true;
  return { [Symbol.dispose]: () => watch.stop() };
}

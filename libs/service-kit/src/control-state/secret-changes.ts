import type { Bus } from '@switchyard/bus';
import { SECRETS_BUCKET } from '@switchyard/contracts';

/** Runs whenever a secret was set, for who keeps values for a while. Nobody who missed it keeps one longer for that. */
export async function followSecrets(bus: Bus, onChange: () => void): Promise<Disposable> {
  let ready = false;
  const watch = await (await bus.kv(SECRETS_BUCKET)).watch(() => ready && onChange());
  ready = true;
  return { [Symbol.dispose]: () => watch.stop() };
}

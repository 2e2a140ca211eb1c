import type { Bus } from '@switchyard/bus';
import { bucketKeyParts, TOKENS_BUCKET } from '@switchyard/contracts';

/** The tenants that have a token. */
export interface TenantWatch extends Disposable {
  readonly all: ReadonlySet<string>;
  /** Reports tenants that appear later. */
  onNew(listener: (tenant: string) => void): void;
}

/** Resolves once all present tenants are known. */
export async function watchTenants(bus: Bus): Promise<TenantWatch> {
  const all = new Set<string>();
  const listeners: ((tenant: string) => void)[] = [];
  const bucket = await bus.kv(TOKENS_BUCKET);
  const watch = await bucket.watch(({ key, value }) => {
    const tenant = value === undefined ? undefined : bucketKeyParts(key)?.tenant;
    if (tenant === undefined || all.has(tenant)) return;
    all.add(tenant);
    for (const listener of listeners) listener(tenant);
  });
  return { all, onNew: (listener) => void listeners.push(listener), [Symbol.dispose]: () => watch.stop() };
}

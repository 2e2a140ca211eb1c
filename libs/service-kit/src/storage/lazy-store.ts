import { ServiceError } from '@switchyard/contracts';
import type { Publish, Store } from '@switchyard/store';

/** Opens the store with the first collection, so that a service without documents creates no database. */
export function lazyStore(open: () => Promise<Store>): Store {
  let publish: Publish | undefined;
  let opening: Promise<Store> | undefined;
  let opened: Store | undefined;

  async function openNow(): Promise<Store> {
    opened = await open();
    if (publish !== undefined) await opened.publishTo(publish);
    return opened;
  }

  function there(): Store {
    if (opened === undefined) throw new ServiceError('INTERNAL', 'the store is not open yet: open a collection first');
    return opened;
  }

  return {
    get identity() {
      return there().identity;
    },
    open: async (specs) => (await (opening ??= openNow())).open(specs),
    now: () => there().now(),
    async publishTo(to) {
      publish = to;
      await opened?.publishTo(to);
    },
    async close() {
      await opening?.catch(() => undefined);
      await opened?.close();
    },
  };
}

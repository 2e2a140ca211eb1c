import type { Handler, Opening } from '@switchyard/bus';
import type { Store } from '@switchyard/store';
import type { OpenedValues } from '../values/open-values.ts';

/** A value that was sealed longer ago is refused, so that what was recorded cannot be played again on another day. */
const SEALED_FOR_MS = 60_000;

interface Given {
  values: Pick<OpenedValues, 'box' | 'writable'>;
  store: Pick<Store, 'now'>;
}

/** The same from every replica that has the master key. */
export function secretsSealingKey({ values, store }: Given): Handler<'secrets.sealingKey'> {
  return () => ({ key: values.box.key, at: store.now() });
}

/** Opens what was sealed to that. Where nothing may be written, that is the reason to be told. */
export function openingOf({ values, store }: Given): Opening {
  return {
    isFresh: (at) => Math.abs(store.now() - at) <= SEALED_FOR_MS,
    box: {
      unseal(text, place) {
        const plain = values.box.unseal(text, place);
        if (plain === undefined) values.writable();
        return plain;
      },
    },
  };
}

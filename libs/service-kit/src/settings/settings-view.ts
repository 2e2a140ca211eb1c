import { isDeepStrictEqual } from 'node:util';
import type { Sections } from '@switchyard/contracts';
import type { SectionName, Settings } from './settings.ts';

/** Receives the previous configuration. */
export type ChangeListener = (previous: Readonly<Sections>) => void;

/** Selected sections of the configuration. Listeners run only when one of these sections has changed. */
export function createView<K extends SectionName>(
  sections: readonly K[],
  now: () => Readonly<Sections>,
  listeners: Set<ChangeListener>,
): Settings<K> & Disposable {
  const mine = new Set<ChangeListener>();
  let seen: Readonly<Sections> | undefined;
  let picked = pick(now(), sections);

  function current(): Readonly<Pick<Sections, K>> {
    const all = now();
    if (all !== seen) picked = pick(all, sections);
    seen = all;
    return picked;
  }

  return {
    get current() {
      return current();
    },
    onChange(listener) {
      const onAny = (previous: Readonly<Sections>): void => {
        if (sections.some((name) => !isDeepStrictEqual(previous[name], now()[name]))) listener(current());
      };
      mine.add(onAny);
      listeners.add(onAny);
      return () => void (mine.delete(onAny) && listeners.delete(onAny));
    },
    [Symbol.dispose]() {
      for (const listener of mine) listeners.delete(listener);
    },
  };
}

function pick<K extends SectionName>(all: Readonly<Sections>, sections: readonly K[]): Readonly<Pick<Sections, K>> {
  return Object.freeze(Object.fromEntries(sections.map((name) => [name, all[name]])) as Pick<Sections, K>);
}

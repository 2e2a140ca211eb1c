import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { forEachItem, template } from '../helm.ts';
import { DEFAULT_SET, golden, goldenPath, parseObjects, readValues, UMBRELLA } from '../render.ts';
import type { ChartCheck } from './context.ts';

/** Compares every rendering of the umbrella with its golden, or replaces the goldens. */
export function compareGoldens(write: boolean): ChartCheck {
  return {
    name: 'goldens',
    run({ rendered }) {
      const byDefault = parseObjects(rendered.get(DEFAULT_SET) ?? '');
      const failures = [...rendered].flatMap(([set, text]) => {
        const present = golden(parseObjects(text), set === DEFAULT_SET ? [] : byDefault);
        const file = goldenPath(set);
        if (write) {
          mkdirSync(dirname(file), { recursive: true });
          writeFileSync(file, present);
          return [];
        }
        const same = existsSync(file) && readFileSync(file, 'utf8') === present;
        return same ? [] : [`${set}: the golden is out of date. Compare and update it: node scripts/helm/helm-test.ts --write`];
      });
      return Promise.resolve(failures);
    },
  };
}

/** A rendering that changes by itself would replace pods at every synchronization of Argo CD. */
export const renderTwice: ChartCheck = {
  name: 'repeat',
  async run({ tools, rendered }) {
    const failures = await forEachItem([...rendered], async ([set, text]) =>
      (await template(tools.helm, UMBRELLA, readValues(set))) === text ? [] : [`${set}: two renderings differ`],
    );
    return failures.flat();
  },
};

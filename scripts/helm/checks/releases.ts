import { forEachItem, readMessages, template } from '../helm.ts';
import { describeObjects, parseObjects, partCharts, readValues, selectPart, UMBRELLA } from '../render.ts';
import type { ChartCheck } from './context.ts';

/**
 * A release of one chart consists of the same objects as its part of the umbrella, so a service can move between them without a new pod.
 * The umbrella consists of all parts and adds no object.
 */
export const compareReleases: ChartCheck = {
  name: 'releases',
  async run({ tools, rendered }) {
    const failures = await forEachItem([...rendered], async ([set, text]) => {
      const whole = describeObjects(parseObjects(text));
      const found: string[] = [];
      for (const { alias, chart } of partCharts()) {
        const values = selectPart(readValues(set), alias);
        if (values === undefined) continue;
        for (const [id, own] of describeObjects(parseObjects(await template(tools.helm, chart, values)))) {
          if (whole.get(id) !== own) found.push(`${set}: ${id} of ${chart} differs from that of the umbrella`);
          whole.delete(id);
        }
      }
      return [...found, ...[...whole.keys()].map((id) => `${set}: no chart renders ${id} of the umbrella`)];
    });
    return failures.flat();
  },
};

/** Helm 4 renders the same bytes as Helm 3, apart from comments and the order of objects. */
export const compareHelmVersions: ChartCheck = {
  name: 'helm4',
  findObstacle: ({ helm4 }) => (helm4 === undefined ? 'helm4' : undefined),
  async run({ tools, rendered }) {
    const failures = await forEachItem([...rendered], async ([set, text]) => {
      try {
        const other = describeObjects(parseObjects(await template(tools.helm4 ?? '', UMBRELLA, readValues(set))));
        const own = describeObjects(parseObjects(text));
        const different = [...own.keys(), ...other.keys()].filter((id) => own.get(id) !== other.get(id));
        return [...new Set(different)].map((id) => `${set}: Helm 4 renders ${id} differently`);
      } catch (error) {
        return [`${set}: ${readMessages(error)}`];
      }
    });
    return failures.flat();
  },
};

import { forEachItem, lint, readMessages } from '../helm.ts';
import { partCharts, readValues, selectPart, UMBRELLA, valueSets } from '../render.ts';
import type { ChartCheck } from './context.ts';

/** `helm lint --strict` of the umbrella and of each chart, with every set of values. */
export const lintCharts: ChartCheck = {
  name: 'lint',
  async run({ tools }) {
    const failures = await forEachItem(listReleases(), async ({ chart, set, values }) => {
      try {
        await lint(tools.helm, chart, values);
        return [];
      } catch (error) {
        return [`${chart}, ${set}: ${readMessages(error)}`];
      }
    });
    return failures.flat();
  },
};

function listReleases(): { chart: string; set: string; values: object }[] {
  return valueSets().flatMap((set) => {
    const whole = readValues(set);
    const parts = partCharts().flatMap(({ alias, chart }) => {
      const values = selectPart(whole, alias);
      return values === undefined ? [] : [{ chart, set, values }];
    });
    return [{ chart: UMBRELLA, set, values: whole }, ...parts];
  });
}

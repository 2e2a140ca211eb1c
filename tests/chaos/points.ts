import type { Known } from './check/known.ts';
import { only } from './history.ts';
import { DIES } from './witness/notes.ts';

/** Orders to die and recorded deaths, per point. */
export function getPoints({ all, notes }: Pick<Known, 'all' | 'notes'>): Record<string, { told: number; died: number }> {
  const told = only(all, 'fault').flatMap(({ request }) => (request.kind === 'point' ? [request.point] : []));
  const deaths = notes.filter(({ what }) => what === DIES);
  const points = [...Map.groupBy(told, (point) => point)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    points.map(([point, times]) => [point, { told: times.length, died: deaths.filter(({ id }) => id === point).length }]),
  );
}

/** Lists the points with fewer deaths than orders, as text. */
export function unreached(known: Pick<Known, 'all' | 'notes'>): string[] {
  return Object.entries(getPoints(known)).flatMap(([point, { told, died }]) =>
    died < told ? [`${point}: ${died} of ${told} died there`] : [],
  );
}

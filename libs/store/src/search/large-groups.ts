import { joinConditions, matchAny, matchTags } from './entry-filter.ts';
import type { IndexFile } from './index-file.ts';
import type { GroupSize, GroupSizeQuery } from './search-index.ts';

/** Maximum number of groups in one result, largest first. */
const MAX_GROUPS = 100;

/** Finds the groups of all tenants with more than `max` matching entries. */
export function findLargeGroups({ prepare }: IndexFile, { max, now, trust, kinds, tags = [] }: GroupSizeQuery): GroupSize[] {
  const { text, values } = joinConditions([
    ['gone = 0 AND (expires IS NULL OR expires > ?)', now],
    ...matchAny('trust', trust),
    ...matchAny('kind', kinds),
    ...matchTags(tags),
  ]);
  const rows = prepare(
    `SELECT tenant, grp, count(*) AS n FROM entries WHERE ${text} GROUP BY part HAVING n > ? ORDER BY n DESC LIMIT ${MAX_GROUPS}`,
  ).all(...values, max);
  return rows.map(({ tenant, grp, n }) => ({ tenant: String(tenant), group: String(grp), entries: Number(n) }));
}

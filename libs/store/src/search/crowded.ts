import type { IndexFile } from './index-file.ts';
import type { Crowded, CrowdedQuery } from './search-index.ts';
import { among, tagged } from './where-entries.ts';

/** So many groups are named at once, the fullest first. */
const MOST_GROUPS = 100;

/** Groups that hold more of some kind of entry than they are to. */
export function crowded({ prepare }: IndexFile, { most, now, trust, kinds, tags = [] }: CrowdedQuery): Crowded[] {
  const conditions = [...among('trust', trust), ...among('kind', kinds), ...tagged(tags)];
  const where = ['gone = 0 AND (expires IS NULL OR expires > ?)', ...conditions.map(([text]) => text)].join(' AND ');
  const values = conditions.flatMap(([, ...given]) => given);
  const rows = prepare(
    `SELECT tenant, grp, count(*) AS n FROM entries WHERE ${where} GROUP BY part HAVING n > ? ORDER BY n DESC LIMIT ${MOST_GROUPS}`,
  ).all(now, ...values, most);
  return rows.map(({ tenant, grp, n }) => ({ tenant: String(tenant), group: String(grp), entries: Number(n) }));
}

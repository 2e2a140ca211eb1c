import { partOf, type IndexFile } from './index-file.ts';
import type { AlikeQuery } from './search-index.ts';
import type { VectorLane } from './vector-lane.ts';

/** Entries of the same owner that are so near to one, itself first. None where it has no vector. */
export function alike({ prepare }: IndexFile, lane: VectorLane, { tenant, group, id, now, trust, least, limit }: AlikeQuery): string[] {
  const part = partOf(tenant, group);
  const found = prepare(
    'SELECT owner, vector FROM entries JOIN vectors USING (row) WHERE tenant = ? AND id = ? AND part = ? AND gone = 0',
  ).get(tenant, id, part);
  if (!(found?.vector instanceof Uint8Array)) return [];
  const { buffer, byteOffset, byteLength } = found.vector;
  return lane.nearest(part, new Int8Array(buffer, byteOffset, byteLength), { owners: [String(found.owner)], trust, now, limit, least });
}

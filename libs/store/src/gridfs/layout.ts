import type { Collection, Db } from 'mongodb';
import type { BucketFacts, BucketFile, BucketKey } from './bucket.ts';

/** As drivers of GridFS cut files. */
export const PIECE_BYTES = 261_120;

const NAME = 'blobs';

/** One piece of a file; all are of `PIECE_BYTES` but the last. */
export interface Piece {
  files_id: string;
  n: number;
  data: { readonly buffer: Uint8Array; readonly position: number };
}

/** A whole file, as GridFS has it. */
export interface WholeFile {
  _id: string;
  length: number;
  chunkSize: number;
  uploadDate: Date;
  filename: string;
  metadata: BucketFacts & { tenant: string; sha256: string };
}

/** A file that is not whole yet; its pieces are among those of the others. */
export interface Unfinished extends BucketFacts {
  _id: string;
  tenant: string;
  /** Who may go on with it: whoever opened it last. */
  writer: string;
  touchedAt: number;
}

export interface Layout {
  files: Collection<WholeFile>;
  pieces: Collection<Piece>;
  unfinished: Collection<Unfinished>;
}

export async function openLayout(db: Db): Promise<Layout> {
  const layout: Layout = {
    files: db.collection(`${NAME}.files`),
    pieces: db.collection(`${NAME}.chunks`),
    unfinished: db.collection(`${NAME}.unfinished`),
  };
  await layout.pieces.createIndex({ files_id: 1, n: 1 }, { unique: true });
  await layout.files.createIndex({ 'metadata.expiresAt': 1 });
  await layout.unfinished.createIndex({ tenant: 1 });
  await layout.unfinished.createIndex({ touchedAt: 1 });
  return layout;
}

/** Ids have one length, so that no two keys make one name. */
export function nameOf({ tenant, id }: BucketKey): string {
  return `${id} ${tenant}`;
}

export function bytesIn({ data }: Pick<Piece, 'data'>): Uint8Array {
  return data.buffer.subarray(0, data.position);
}

export function fileOf({ length, uploadDate, metadata: { contentType, expiresAt, sha256 } }: WholeFile): BucketFile {
  return { length, contentType, expiresAt, sha256, savedAt: uploadDate.getTime() };
}

/** How much of a file there is: its pieces before the last are full. */
export async function lastPiece({ pieces }: Layout, name: string): Promise<{ n: number; bytes: Uint8Array } | undefined> {
  const [last] = await pieces.find({ files_id: name }).sort({ n: -1 }).limit(1).toArray();
  return last && { n: last.n, bytes: bytesIn(last) };
}

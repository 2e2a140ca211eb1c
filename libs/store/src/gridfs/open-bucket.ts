import { databaseName, readAddress } from '../mongodb/address.ts';
import { connect } from '../mongodb/connect.ts';
import { explain } from '../mongodb/errors.ts';
import { createOperations } from '../mongodb/session.ts';
import type { Bucket, BucketFile, BucketKey, BucketUpload } from './bucket.ts';
import { bytesIn, fileOf, lastPiece, nameOf, openLayout, PIECE_BYTES, type Layout } from './layout.ts';
import { openUpload } from './upload.ts';

const NAME = 'bucket';
/** So many at once are looked for, and then removed one by one. */
const BATCH = 100;

/** The files of a service in the database that has its name, which all its replicas share. */
export async function openMongoBucket(url: string, service: string): Promise<Bucket> {
  const address = readAddress(url);
  const client = await connect(address, `switchyard-${service}`);
  const layout = await openLayout(client.db(databaseName(address, service))).catch(async (error: unknown) => {
    await client.close();
    throw explain(NAME, error);
  });
  const operations = createOperations();
  const asked = <T>(work: () => Promise<T>): Promise<T> => operations.run(NAME, work);

  return {
    open: async (key, facts) => explained(await asked(() => openUpload(layout, key, facts)), asked),
    find: (key) => asked(() => find(layout, key)),
    read: (key, from, to) => read(layout, nameOf(key), { from, to, asked }),
    remove: (key) => asked(() => remove(layout, nameOf(key))),
    unfinished: (tenant) => asked(() => layout.unfinished.countDocuments({ tenant })),
    sweep: (now, abandoned) => sweep(layout, { now, abandoned, asked }),
    async close() {
      await operations.end();
      await client.close();
    },
  };
}

type Asked = <T>(work: () => Promise<T>) => Promise<T>;

function explained(upload: BucketUpload, asked: Asked): BucketUpload {
  return {
    get length() {
      return upload.length;
    },
    append: (bytes) => asked(() => upload.append(bytes)),
    commit: (sha256) => asked(() => upload.commit(sha256)),
    discard: () => asked(() => upload.discard()),
    release: () => asked(() => upload.release()),
  };
}

async function find(layout: Layout, key: BucketKey): Promise<BucketFile | undefined> {
  const name = nameOf(key);
  const file = await layout.files.findOne({ _id: name });
  if (file) return fileOf(file);
  const begun = await layout.unfinished.findOne({ _id: name });
  if (begun === null) return undefined;
  const last = await lastPiece(layout, name);
  const length = last === undefined ? 0 : last.n * PIECE_BYTES + last.bytes.length;
  return { length, sha256: undefined, savedAt: undefined, contentType: begun.contentType, expiresAt: begun.expiresAt };
}

/** Each piece is asked for when the one before was taken. */
async function* read({ pieces }: Layout, name: string, { from, to, asked }: { from: number; to: number; asked: Asked }) {
  for (let at = from; at < to;) {
    const n = Math.floor(at / PIECE_BYTES);
    const piece = await asked(() => pieces.findOne({ files_id: name, n }));
    const first = n * PIECE_BYTES;
    const bytes = piece === null ? undefined : bytesIn(piece).subarray(at - first, to - first);
    if (bytes === undefined || bytes.length === 0) return;
    at += bytes.length;
    yield bytes;
  }
}

/** Unknown at once; what a crash in between leaves, the next sweep finds. */
async function remove({ files, pieces, unfinished }: Layout, name: string): Promise<void> {
  await files.updateOne({ _id: name }, { $set: { 'metadata.expiresAt': 0 } });
  await unfinished.updateOne({ _id: name }, { $set: { writer: '', touchedAt: 0 } });
  await pieces.deleteMany({ files_id: name });
  await files.deleteOne({ _id: name });
  await unfinished.deleteOne({ _id: name });
}

async function sweep(layout: Layout, { now, abandoned, asked }: { now: number; abandoned: number; asked: Asked }): Promise<number> {
  const { files, unfinished } = layout;
  let removed = 0;
  async function removeAll(look: () => Promise<{ _id: string }[]>): Promise<void> {
    for (let found = await asked(look); found.length > 0; found = await asked(look))
      for (const { _id } of found) {
        await asked(() => remove(layout, _id));
        removed++;
      }
  }
  const names = { projection: { _id: 1 }, limit: BATCH } as const;
  await removeAll(() => files.find({ 'metadata.expiresAt': { $lte: now } }, names).toArray());
  for (const { _id } of await asked(() => unfinished.find({ touchedAt: { $lte: abandoned } }, names).toArray())) {
    // A crash between the two last steps of a commit leaves both.
    if (await asked(() => files.findOne({ _id }, { projection: { _id: 1 } }))) await asked(() => unfinished.deleteOne({ _id }));
    else await asked(() => remove(layout, _id));
    removed++;
  }
  return removed;
}

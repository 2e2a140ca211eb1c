import { Binary } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { isDuplicateKey } from '../mongodb/errors.ts';
import type { BucketFacts, BucketKey, BucketUpload } from './bucket.ts';
import { fileOf, lastPiece, nameOf, PIECE_BYTES, type Layout, type WholeFile } from './layout.ts';

export function alreadyThere(): ServiceError {
  return new ServiceError('ALREADY_EXISTS', 'all of the file is there');
}

/** Opens an upload for a new writer: whoever wrote it before is refused from now on. */
export async function openUpload(layout: Layout, key: BucketKey, facts: BucketFacts): Promise<BucketUpload> {
  const { unfinished, files } = layout;
  const name = nameOf(key);
  const writer = mintId('writer');
  const kept = await unfinished.findOneAndUpdate(
    { _id: name },
    { $set: { writer, touchedAt: Date.now() }, $setOnInsert: { tenant: key.tenant, ...facts } },
    { upsert: true, returnDocument: 'after' },
  );
  if (await files.findOne({ _id: name }, { projection: { _id: 1 } })) {
    await unfinished.deleteOne({ _id: name });
    throw alreadyThere();
  }
  const { contentType, expiresAt } = kept ?? facts;
  return uploadOf(layout, { name, key, writer, facts: { contentType, expiresAt } });
}

interface Opened {
  name: string;
  key: BucketKey;
  writer: string;
  facts: BucketFacts;
}

async function uploadOf(layout: Layout, { name, key, writer, facts }: Opened): Promise<BucketUpload> {
  const { pieces, unfinished, files } = layout;
  const last = await lastPiece(layout, name);
  // A last piece that is not full is filled up here, and put in place of itself.
  const open = last !== undefined && last.bytes.length < PIECE_BYTES;
  const gathered = new Uint8Array(PIECE_BYTES);
  let [n, held, stored] = last === undefined ? [0, 0, 0] : open ? [last.n, last.bytes.length, last.bytes.length] : [last.n + 1, 0, 0];
  if (open) gathered.set(last.bytes);

  /** Only the writer who came last may go on. */
  async function hold(): Promise<void> {
    const { matchedCount } = await unfinished.updateOne({ _id: name, writer }, { $set: { touchedAt: Date.now() } });
    if (matchedCount === 0) throw new ServiceError('ABORTED', 'somebody else goes on with the file');
  }

  async function store(): Promise<void> {
    if (held === stored) return;
    await hold();
    const data = new Binary(gathered.slice(0, held));
    await pieces.updateOne({ files_id: name, n }, { $set: { data } }, { upsert: true });
    stored = held;
  }

  return {
    get length() {
      return n * PIECE_BYTES + held;
    },
    async append(bytes) {
      for (let at = 0; at < bytes.length;) {
        const part = bytes.subarray(at, at + PIECE_BYTES - held);
        gathered.set(part, held);
        held += part.length;
        at += part.length;
        if (held < PIECE_BYTES) continue;
        await store();
        [n, held, stored] = [n + 1, 0, 0];
      }
    },
    async commit(sha256) {
      await store();
      await hold();
      const length = n * PIECE_BYTES + held;
      const metadata = { ...facts, tenant: key.tenant, sha256 };
      const file: WholeFile = { _id: name, length, chunkSize: PIECE_BYTES, uploadDate: new Date(), filename: key.id, metadata };
      await files.insertOne(file).catch((error: unknown) => {
        throw isDuplicateKey(error) ? alreadyThere() : error;
      });
      await unfinished.deleteOne({ _id: name });
      return fileOf(file);
    },
    async discard() {
      await hold();
      await pieces.deleteMany({ files_id: name });
      await unfinished.deleteOne({ _id: name, writer });
    },
    release: store,
  };
}

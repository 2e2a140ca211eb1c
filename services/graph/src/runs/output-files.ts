import { createSource, putBlob, readBlob, type Blobs, type BlobStore } from '@switchyard/blob';
import { ServiceError } from '@switchyard/contracts';
import { deriveId } from '@switchyard/security';
import type { Collection } from '@switchyard/store';
import { OUTPUT_RETENTION_MS, type OutputDocument } from '../documents/collections.ts';
import type { OutputText } from './output-text.ts';

/** Characters of an output that its document stores. The complete text of a longer output is a kept blob. */
const INLINE_CHARS = 16_384;
const CONTENT_TYPE = 'text/markdown; charset=utf-8';
const PAGE_SIZE = 100;

export interface OutputFileDeps {
  outputs: Collection<OutputDocument>;
  blobs: () => Promise<BlobStore>;
  now: () => number;
  log: { warn(fields: object, message: string): void };
}

export interface StoreOutputOptions {
  runId: string;
  nodeId: string;
  text: string;
}

/** Stores an output before the state that names it, with whose write it reaches the disk. Repeating it has no further effect. */
export async function storeOutput(deps: OutputFileDeps, tenant: string, { runId, nodeId, text }: StoreOutputOptions): Promise<void> {
  const base = { outputId: `${runId}/${nodeId}`, runId, nodeId, createdAt: deps.now() };
  const own = deps.outputs.for({ tenant });
  if (text.length <= INLINE_CHARS) return void (await own.replace({ ...base, text }, { deferSync: true }));
  const blobId = await keepFile(deps, tenant, { runId, nodeId, text });
  await own.replace({ ...base, text: text.slice(0, INLINE_CHARS), totalChars: text.length, blobId }, { deferSync: true });
}

/** Keeps the complete text as a blob of the run. Its id depends on the content, so that a repetition finds it. */
async function keepFile(deps: OutputFileDeps, tenant: string, { runId, nodeId, text }: StoreOutputOptions): Promise<string> {
  const id = deriveId('blob', tenant, runId, nodeId, text);
  const blobs = (await deps.blobs()).for({ tenant });
  try {
    if (!(await hasFile(blobs, id))) await putBlob(blobs, createSource(Buffer.from(text)), { id, contentType: CONTENT_TYPE });
    await blobs.keep(id, { owner: getOwner(runId), expiresAt: Math.ceil(deps.now()) + OUTPUT_RETENTION_MS });
  } catch (err) {
    if (!(err instanceof ServiceError) || err.retryable) throw err;
    // A full store must not fail a node whose turn was paid. Readers of the output are told that its file is missing.
    const hint = 'delete runs with graph.deleteRun, or raise SWITCHYARD_BLOB_TENANT_BYTES';
    deps.log.warn({ err, runId, nodeId, hint }, 'failed to keep the file of an output');
  }
  return id;
}

/** Returns at least the first `maxChars` characters of an output, from its file if the document has fewer. */
export async function readOutput(
  { blobs }: Pick<OutputFileDeps, 'blobs'>,
  tenant: string,
  { text, blobId, totalChars = text.length }: OutputDocument,
  maxChars: number,
): Promise<OutputText> {
  if (blobId === undefined || maxChars <= text.length) return { text, totalChars, isMissing: false };
  const complete = await readFile((await blobs()).for({ tenant }), blobId);
  return complete === undefined ? { text, totalChars, isMissing: true } : { text: complete, totalChars, isMissing: false };
}

/** Returns whether the complete text of an output still exists. */
export async function isComplete({ blobs }: Pick<OutputFileDeps, 'blobs'>, tenant: string, { blobId }: OutputDocument): Promise<boolean> {
  return blobId === undefined || hasFile((await blobs()).for({ tenant }), blobId);
}

/** Deletes the outputs of a run and their files. */
export async function removeOutputs({ outputs, blobs }: OutputFileDeps, tenant: string, runId: string): Promise<void> {
  const own = outputs.for({ tenant });
  const owner = getOwner(runId);
  // The files of overwritten outputs are found by their owner only. No file exists unless an output names one.
  if ((await own.count({ runId, blobId: { exists: true } })) > 0) {
    const files = (await blobs()).for({ tenant });
    for (
      let page = await files.listKept({ owner, limit: PAGE_SIZE });
      page.length > 0;
      page = await files.listKept({ owner, limit: PAGE_SIZE })
    )
      for (const { id } of page) await files.release(id, owner);
  }
  await own.remove({ runId });
}

function getOwner(runId: string): string {
  return `graph-run/${runId}`;
}

async function hasFile(blobs: Blobs, id: string): Promise<boolean> {
  try {
    await blobs.status(id);
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

async function readFile(blobs: Blobs, id: string): Promise<string | undefined> {
  try {
    const { bytes } = await readBlob(blobs, id);
    return Buffer.concat(await Array.fromAsync(bytes)).toString();
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'NOT_FOUND' || error.code === 'DATA_LOSS');
}

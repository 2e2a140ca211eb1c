import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { readBlob, type Blobs } from '@switchyard/blob';
import { PAYLOAD_TYPE, ServiceError, type BlobRef } from '@switchyard/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { MediaMeta, RangeHeader } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { parseRange, type ByteRange } from './range.ts';
import { INTERNAL, findRefusal, refuse, RefusalError, type Refusal } from '../request/refusal.ts';

const GUARD = { scopes: ['rpc'], tokenInQuery: true } as const;

const FILE: RouteDoc = {
  ...GUARD,
  summary: 'Returns a stored file, or one range of it.',
  headers: RangeHeader,
  responses: {
    200: { description: 'The file.', type: 'application/octet-stream' },
    206: { description: 'The range.', type: 'application/octet-stream' },
    304: { description: 'The client has the current file.' },
  },
  refusals: [404, 410, 416],
};

const META: RouteDoc = {
  ...GUARD,
  summary: 'Returns the metadata of a stored file.',
  responses: { 200: { description: 'The type, size and times of the file.', schema: MediaMeta } },
  refusals: [404, 410],
};

/** `GET /media/:id` and `/media/:id/meta`: blobs of the caller's tenant. A file extension may follow the id. */
export function registerMedia(app: FastifyInstance, edge: Edge): void {
  void app.register((scope, _options, done) => {
    scope.setErrorHandler((error, request, reply) => refuse(request, reply, toMediaRefusal(error), error));
    scope.get('/media/:id', edge.route(FILE), async (request, reply) => {
      const { blobs, ref, name } = await findFile(edge, request);
      return sendFile(request, reply, { blobs, ref, name });
    });
    scope.get('/media/:id/meta', edge.route(META), async (request, reply) => {
      const { ref, name } = await findFile(edge, request);
      const { size, savedAt = 0, expiresAt } = ref;
      reply.header('cache-control', 'no-store');
      return { contentType: resolveContentType(ref.contentType, name), savedAt, size, expiresAt };
    });
    done();
  });
}

interface MediaFile {
  blobs: Blobs;
  ref: BlobRef;
  /** The requested name, with its extension. */
  name: string;
}

const NAME = /^[A-Za-z0-9._-]{1,200}$/;
const BLOB = /^(blob_[0-9A-Za-z]{22})(?:\.[A-Za-z0-9._-]*)?$/;

async function findFile({ blobs: openBlobs }: Edge, { params, caller }: FastifyRequest): Promise<MediaFile> {
  const { id: name } = params as { id: string };
  if (!NAME.test(name)) throw new RefusalError({ status: 400, message: 'Invalid media id', code: 'INVALID_ARGUMENT' });
  const [, id] = BLOB.exec(name) ?? [];
  if (id === undefined) throw new RefusalError(ABSENT);
  const blobs = (await openBlobs()).for(caller.principal);
  const ref = await blobs.status(id);
  // Payloads of the bus are internal and not served as media.
  if (ref.contentType === PAYLOAD_TYPE) throw new RefusalError(ABSENT);
  return { blobs, ref, name };
}

async function sendFile({ headers }: FastifyRequest, reply: FastifyReply, { blobs, ref, name }: MediaFile): Promise<FastifyReply> {
  const { id, size, sha256 } = ref;
  const contentType = resolveContentType(ref.contentType, name);
  const etag = `"${sha256}"`;
  reply.headers({
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    etag,
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  });
  if (matchesEtag(headers['if-none-match'], etag)) return reply.code(304).send();
  const range = headers['if-range'] === undefined || headers['if-range'] === etag ? parseRange(headers.range, size) : undefined;
  if (range === 'unsatisfiable') {
    throw new RefusalError({
      status: 416,
      message: 'Range not satisfiable',
      code: 'OUT_OF_RANGE',
      headers: { 'content-range': `bytes */${size}` },
    });
  }
  const { start, end }: ByteRange = range ?? { start: 0, end: size };
  const { bytes } = await readBlob(blobs, id, { offset: start, limit: end - start });
  if (range) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${size}`);
  return reply
    .headers({
      'content-type': contentType,
      'content-length': end - start,
      'content-disposition': `${isInline(contentType) ? 'inline' : 'attachment'}; filename="${name}"`,
    })
    .send(Readable.from(bytes, { objectMode: false }));
}

function matchesEtag(header: string | undefined, etag: string): boolean {
  return header?.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag) ?? false;
}

const ABSENT: Refusal = { status: 404, message: 'Not found', code: 'NOT_FOUND' };
const EXPIRED: Refusal = { status: 410, message: 'Media expired', code: 'NOT_FOUND' };

/** Converts an error to a refusal whose body has only `error`, as the interface requires. */
function toMediaRefusal(error: unknown): Refusal {
  const absent = error instanceof ServiceError && error.code === 'NOT_FOUND';
  const refusal = absent ? (error.details.reason === 'BLOB_EXPIRED' ? EXPIRED : ABSENT) : (findRefusal(error) ?? INTERNAL);
  return { ...refusal, bare: true };
}

const OCTETS = 'application/octet-stream';

const BY_EXTENSION: Readonly<Record<string, string>> = {
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
  '.mp3': 'audio/mpeg',
  '.ogg': 'audio/ogg',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.txt': 'text/plain; charset=utf-8',
};

/** Returns the stored content type, or the type of the file extension. */
function resolveContentType(stored: string, name: string): string {
  return stored === OCTETS || !/^[\w.+-]+\/[\w.+-]+/.test(stored) ? (BY_EXTENSION[extname(name).toLowerCase()] ?? OCTETS) : stored;
}

const INLINE_TYPES = /^(?:image\/(?:png|jpeg|gif|webp|avif)|audio\/[\w.+-]+|video\/[\w.+-]+|text\/plain)\s*(?:;|$)/i;

/** Whether a browser may display the file, because it executes nothing in it. Other files are downloaded. */
function isInline(contentType: string): boolean {
  return INLINE_TYPES.test(contentType);
}

import { Readable } from 'node:stream';
import { readBlob, type Blobs } from '@switchyard/blob';
import { PAYLOAD_TYPE, ServiceError, type BlobRef } from '@switchyard/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { MediaMeta, RangeHeader } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { contentTypeOf, isShown } from '../media/content-type.ts';
import { rangeOf, type ByteRange } from '../media/range.ts';
import { INTERNAL, findRefusal, refuse, RefusalError, type Refusal } from '../request/refusal.ts';

const GUARD = { scopes: ['rpc'], tokenInQuery: true } as const;

const FILE: RouteDoc = {
  ...GUARD,
  summary: 'A file that was kept, or one range of it.',
  headers: RangeHeader,
  answers: {
    200: { description: 'The file.', type: 'application/octet-stream' },
    206: { description: 'The range.', type: 'application/octet-stream' },
    304: { description: 'It is the one that the client has.' },
  },
  refusals: [404, 410, 416],
};

const META: RouteDoc = {
  ...GUARD,
  summary: 'What is known of a file.',
  answers: { 200: { description: 'Its type, its size and its times.', schema: MediaMeta } },
  refusals: [404, 410],
};

/** `GET /media/:id` and `/media/:id/meta`: blobs of the tenant of the caller, by their id, behind which an extension may stand. */
export function registerMedia(app: FastifyInstance, edge: Edge): void {
  void app.register((within, _options, done) => {
    within.setErrorHandler((error, request, reply) => refuse(request, reply, mediaRefusal(error), error));
    within.get('/media/:id', edge.route(FILE), async (request, reply) => {
      const { blobs, ref, name } = await find(edge, request);
      return sendFile(request, reply, { blobs, ref, name });
    });
    within.get('/media/:id/meta', edge.route(META), async (request, reply) => {
      const { ref, name } = await find(edge, request);
      const { size, savedAt = 0, expiresAt } = ref;
      reply.header('cache-control', 'no-store');
      return { contentType: contentTypeOf(ref.contentType, name), savedAt, size, expiresAt };
    });
    done();
  });
}

interface Found {
  blobs: Blobs;
  ref: BlobRef;
  /** As it was asked for. */
  name: string;
}

const NAME = /^[A-Za-z0-9._-]{1,200}$/;
const BLOB = /^(blob_[0-9A-Za-z]{22})(?:\.[A-Za-z0-9._-]*)?$/;

async function find({ blobs: open }: Edge, { params, caller }: FastifyRequest): Promise<Found> {
  const { id: name } = params as { id: string };
  if (!NAME.test(name)) throw new RefusalError({ status: 400, message: 'Invalid media id', code: 'INVALID_ARGUMENT' });
  const [, id] = BLOB.exec(name) ?? [];
  if (id === undefined) throw new RefusalError(ABSENT);
  const blobs = (await open()).for(caller.principal);
  const ref = await blobs.status(id);
  // Payloads of the bus are internal and not served as media.
  if (ref.contentType === PAYLOAD_TYPE) throw new RefusalError(ABSENT);
  return { blobs, ref, name };
}

async function sendFile({ headers }: FastifyRequest, reply: FastifyReply, { blobs, ref, name }: Found): Promise<FastifyReply> {
  const { id, size, sha256 } = ref;
  const contentType = contentTypeOf(ref.contentType, name);
  const etag = `"${sha256}"`;
  reply.headers({
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    etag,
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  });
  if (namesTag(headers['if-none-match'], etag)) return reply.code(304).send();
  const wanted = headers['if-range'] === undefined || headers['if-range'] === etag ? rangeOf(headers.range, size) : undefined;
  if (wanted === 'unsatisfiable') {
    throw new RefusalError({
      status: 416,
      message: 'Range not satisfiable',
      code: 'OUT_OF_RANGE',
      headers: { 'content-range': `bytes */${size}` },
    });
  }
  const { from, to }: ByteRange = wanted ?? { from: 0, to: size };
  const { bytes } = await readBlob(blobs, id, { offset: from, limit: to - from });
  if (wanted) reply.code(206).header('content-range', `bytes ${from}-${to - 1}/${size}`);
  return reply
    .headers({
      'content-type': contentType,
      'content-length': to - from,
      'content-disposition': `${isShown(contentType) ? 'inline' : 'attachment'}; filename="${name}"`,
    })
    .send(Readable.from(bytes, { objectMode: false }));
}

function namesTag(header: string | undefined, etag: string): boolean {
  return header?.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag) ?? false;
}

const ABSENT: Refusal = { status: 404, message: 'Not found', code: 'NOT_FOUND' };
const EXPIRED: Refusal = { status: 410, message: 'Media expired', code: 'NOT_FOUND' };

/** One sentence, as the interface has it. */
function mediaRefusal(error: unknown): Refusal {
  const absent = error instanceof ServiceError && error.code === 'NOT_FOUND';
  const refusal = absent ? (error.details.reason === 'BLOB_EXPIRED' ? EXPIRED : ABSENT) : (findRefusal(error) ?? INTERNAL);
  return { ...refusal, bare: true };
}

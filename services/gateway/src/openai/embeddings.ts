import { Readable } from 'node:stream';
import { EmbeddingInput, MAX, validate, type Params, type Result } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { Embeddings } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { parseJsonBody } from '../request/request-body.ts';
import { RefusalError } from '../request/refusal.ts';
import { createCallOptions } from '../request/trace.ts';
import { toCompletionError } from './openai-errors.ts';
import { isLenient } from '../request/lenient-path.ts';
import { checkFieldCount, createInvalidBodyRefusal, LENIENT_TOKEN_HINT } from './openai-body.ts';
import { removeNulls } from './openai-fields.ts';

const MAX_TEXTS = 2_048;
const CHARS_PER_TOKEN = 4;
const text = z.string().min(1).max(MAX.text);

const fields = {
  model: z.string().min(1).max(MAX.name),
  input: z.union([text, z.array(text).min(1).max(MAX_TEXTS)]),
  encoding_format: z.enum(['float', 'base64']).default('float'),
  dimensions: z.int().positive().optional(),
};
export const EmbeddingsBody = z.strictObject(fields);
/** Lenient tokens may send further fields, which are ignored, and token ids instead of texts. */
export const LenientEmbeddingsBody = z.object({
  ...fields,
  input: z.union([fields.input, EmbeddingInput, z.array(EmbeddingInput).min(1).max(MAX_TEXTS)]).transform(toList),
});

const DOC: RouteDoc = {
  scopes: ['rpc', 'api'],
  summary: 'Creates the embeddings of one or several texts.',
  description:
    'Lenient tokens and requests to `/openai/v1/embeddings` may send more fields, which are ignored, and token ids if the provider accepts them.',
  body: EmbeddingsBody,
  example: { body: { model: 'openai/text-embedding-3-small', input: 'hello' } },
  responses: { 200: { description: 'One vector per text, in order.', schema: Embeddings } },
  refusals: [404],
};

/** `POST /v1/embeddings`: vectors as numbers, or as base64 of little-endian float32. */
export function registerEmbeddings(app: FastifyInstance, edge: Edge): void {
  app.post('/v1/embeddings', edge.route(DOC), async (request, reply) => {
    const { encoding_format: format, ...params } = parseEmbeddingsBody(parseJsonBody(request), isLenient(request.raw, request.caller));
    const disconnected = new AbortController();
    reply.raw.once('close', () => void (reply.raw.writableFinished || disconnected.abort()));
    const options = { ...createCallOptions(request), signal: disconnected.signal };
    const answer = await edge.bus
      .as(request.caller.principal)
      .call('models.embed', params, options)
      .catch((error: unknown) => {
        throw toCompletionError(error);
      });
    // Sent vector by vector, so that a large response does not block the event loop.
    return reply
      .type('application/json; charset=utf-8')
      .send(Readable.from(renderEmbeddings(answer, params.input, format), { objectMode: false }));
  });
}

function parseEmbeddingsBody(
  body: unknown,
  lenient: boolean,
): Params<'models.embed'> & Pick<z.output<typeof EmbeddingsBody>, 'encoding_format'> {
  checkFieldCount(body);
  const parsed = validate(lenient ? LenientEmbeddingsBody : EmbeddingsBody, lenient ? removeNulls(body) : body);
  if (!parsed.success) {
    const refusal = createInvalidBodyRefusal(parsed.error);
    const lenientAccepts = !lenient && validate(LenientEmbeddingsBody, removeNulls(body)).success;
    throw new RefusalError(lenientAccepts ? { ...refusal, message: `${refusal.message}. ${LENIENT_TOKEN_HINT}` } : refusal);
  }
  const { dimensions, input, ...params } = parsed.data;
  return { ...params, input: typeof input === 'string' ? [input] : input, ...(dimensions === undefined ? {} : { dimensions }) };
}

/** One list of numbers is the token ids of one text. */
function toList(input: EmbeddingInput | EmbeddingInput[]): EmbeddingInput[] {
  if (typeof input === 'string') return [input];
  return input.every((entry) => typeof entry === 'number') ? [input] : input.filter((entry) => typeof entry !== 'number');
}

/** Renders the response as JSON, one vector per chunk. */
function* renderEmbeddings(
  { vectors, model }: Result<'models.embed'>,
  input: readonly EmbeddingInput[],
  format: 'float' | 'base64',
): Generator<string> {
  yield '{"object":"list","data":[';
  for (const [index, vector] of vectors.entries()) {
    const embedding = format === 'base64' ? vector : decodeVector(vector);
    yield `${index === 0 ? '' : ','}${JSON.stringify({ object: 'embedding', index, embedding })}`;
  }
  const tokens = Math.ceil(
    input.reduce((sum, value) => sum + (typeof value === 'string' ? value.length / CHARS_PER_TOKEN : value.length), 0),
  );
  yield `],"model":${JSON.stringify(model)},"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}}`;
}

function decodeVector(vector: string): number[] {
  const bytes = Buffer.from(vector, 'base64');
  return Array.from({ length: bytes.length / Float32Array.BYTES_PER_ELEMENT }, (_, index) =>
    bytes.readFloatLE(index * Float32Array.BYTES_PER_ELEMENT),
  );
}

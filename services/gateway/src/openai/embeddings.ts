import { Readable } from 'node:stream';
import { MAX, validate, type Params, type Result } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { Embeddings } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { parseJsonBody } from '../request/request-body.ts';
import { RefusalError } from '../request/refusal.ts';
import { createCallOptions } from '../request/trace.ts';
import { completionError } from './openai-errors.ts';
import { fewFields, invalidBody, LENIENT_HOW_TO } from './openai-body.ts';
import { withoutNulls } from './openai-fields.ts';

const MOST_TEXTS = 2_048;
const CHARS_PER_TOKEN = 4;
const text = z.string().min(1).max(MAX.text);

const fields = {
  model: z.string().min(1).max(MAX.name),
  input: z.union([text, z.array(text).min(1).max(MOST_TEXTS)]),
  encoding_format: z.enum(['float', 'base64']).default('float'),
  dimensions: z.int().positive().optional(),
};
export const EmbeddingsBody = z.strictObject(fields);
/** Lenient tokens may send further fields, which are ignored. */
const LenientBody = z.object(fields);

const DOC: RouteDoc = {
  scopes: ['rpc', 'api'],
  summary: 'The vectors of one text or of several.',
  description: 'Tokens that are lenient may send more fields, which are passed over.',
  body: EmbeddingsBody,
  example: { body: { model: 'openai/text-embedding-3-small', input: 'hello' } },
  answers: { 200: { description: 'A vector for each text, in their order.', schema: Embeddings } },
  refusals: [404],
};

/** `POST /v1/embeddings`: the vectors of one text or of several, as numbers or as base64 of little-endian float32. */
export function registerEmbeddings(app: FastifyInstance, edge: Edge): void {
  app.post('/v1/embeddings', edge.route(DOC), async (request, reply) => {
    const { encoding_format: format, ...asked } = embeddingsBody(parseJsonBody(request), request.caller.lenient);
    const left = new AbortController();
    reply.raw.once('close', () => void (reply.raw.writableFinished || left.abort()));
    const options = { ...createCallOptions(request), signal: left.signal };
    const answer = await edge.bus
      .as(request.caller.principal)
      .call('models.embed', asked, options)
      .catch((error: unknown) => {
        throw completionError(error);
      });
    // Written vector by vector, so that a large answer holds up nobody else.
    return reply.type('application/json; charset=utf-8').send(Readable.from(pieces(answer, asked.input, format), { objectMode: false }));
  });
}

function embeddingsBody(
  body: unknown,
  lenient: boolean,
): Params<'models.embed'> & Pick<z.output<typeof EmbeddingsBody>, 'encoding_format'> {
  fewFields(body);
  const parsed = validate(lenient ? LenientBody : EmbeddingsBody, lenient ? withoutNulls(body) : body);
  if (!parsed.success) {
    const refusal = invalidBody(parsed.error);
    const helped = !lenient && validate(LenientBody, withoutNulls(body)).success;
    throw new RefusalError(helped ? { ...refusal, message: `${refusal.message}. ${LENIENT_HOW_TO}` } : refusal);
  }
  const { dimensions, ...asked } = parsed.data;
  return { ...asked, input: [asked.input].flat(), ...(dimensions === undefined ? {} : { dimensions }) };
}

/** The answer as JSON, a vector a piece. */
function* pieces({ vectors, model }: Result<'models.embed'>, input: readonly string[], format: 'float' | 'base64'): Generator<string> {
  yield '{"object":"list","data":[';
  for (const [index, vector] of vectors.entries()) {
    const embedding = format === 'base64' ? vector : numbersOf(vector);
    yield `${index === 0 ? '' : ','}${JSON.stringify({ object: 'embedding', index, embedding })}`;
  }
  const tokens = Math.ceil(input.reduce((sum, one) => sum + one.length, 0) / CHARS_PER_TOKEN);
  yield `],"model":${JSON.stringify(model)},"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}}`;
}

function numbersOf(vector: string): number[] {
  const bytes = Buffer.from(vector, 'base64');
  return Array.from({ length: bytes.length / Float32Array.BYTES_PER_ELEMENT }, (_, at) =>
    bytes.readFloatLE(at * Float32Array.BYTES_PER_ELEMENT),
  );
}

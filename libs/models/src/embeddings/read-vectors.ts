import { getAmount, isJsonObject, getFields, getText } from '../http/json-fields.ts';
import { ProtocolError } from '../errors/protocol-error.ts';

const FLOAT_BYTES = 4;

/** The vectors of a response, in the order of the texts. */
export interface ReadVectors {
  /** Each is base64 of little-endian float32, the format that most providers send. */
  vectors: string[];
  /** The model name reported by the provider. */
  model: string | undefined;
  /** The token count reported by the provider. */
  tokens: number | undefined;
}

/** Parses an embeddings response. Throws for missing, duplicate, empty or unequal vectors. */
export function readVectors(text: string, texts: number): ReadVectors {
  const fields = getFields(parseObject(text));
  const { data } = fields;
  if (!Array.isArray(data) || data.length !== texts) throw new ProtocolError('sent a different number of vectors than texts');
  const vectors = Array.from<string | undefined>({ length: texts });
  for (const [at, one] of data.entries()) {
    const { index = at, embedding } = getFields(one);
    if (!isValidIndex(index, texts) || vectors[index] !== undefined) {
      throw new ProtocolError('sent a vector with an invalid index');
    }
    vectors[index] = encodeVector(embedding);
  }
  const complete = vectors.filter((vector) => vector !== undefined);
  if (complete.some((vector) => vector.length !== complete[0]?.length)) throw new ProtocolError('sent vectors of different lengths');
  return { vectors: complete, model: getText(fields['model']), tokens: getAmount(getFields(fields['usage'])['prompt_tokens']) };
}

function isValidIndex(index: unknown, texts: number): index is number {
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < texts;
}

function parseObject(text: string): unknown {
  try {
    const fields: unknown = JSON.parse(text);
    if (isJsonObject(fields)) return fields;
  } catch {
    // Reported below.
  }
  throw new ProtocolError('sent no JSON object');
}

/** Encodes a vector as base64. Some providers send numbers instead. */
function encodeVector(embedding: unknown): string {
  if (typeof embedding === 'string') return validateVector(Buffer.from(embedding, 'base64'));
  if (!Array.isArray(embedding) || !embedding.every((value) => typeof value === 'number')) {
    throw new ProtocolError('sent invalid vectors');
  }
  const bytes = Buffer.allocUnsafe(embedding.length * FLOAT_BYTES);
  for (const [at, value] of embedding.entries()) bytes.writeFloatLE(value, at * FLOAT_BYTES);
  return validateVector(bytes);
}

function validateVector(bytes: Buffer): string {
  if (bytes.length === 0 || bytes.length % FLOAT_BYTES !== 0) throw new ProtocolError('sent invalid vectors');
  for (let at = 0; at < bytes.length; at += FLOAT_BYTES) {
    if (!Number.isFinite(bytes.readFloatLE(at))) throw new ProtocolError('sent a vector with a value that is not finite');
  }
  return bytes.toString('base64');
}

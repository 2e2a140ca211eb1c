import { amountOf, isMembers, membersOf, textOf } from '../http/json-fields.ts';
import { NotTheProtocol } from '../errors/protocol-error.ts';

const FLOAT_BYTES = 4;

/** What an upstream answers: a vector for each text, in the order of the texts. */
export interface ReadVectors {
  /** Each as base64 of little-endian float32, which is how most upstreams send them. */
  vectors: string[];
  /** As the upstream calls its model. */
  model: string | undefined;
  /** As it counted. */
  tokens: number | undefined;
}

/** Reads an answer to so many texts. Throws where it is none: a vector that is missing, twice there, empty or of another length. */
export function readVectors(text: string, texts: number): ReadVectors {
  const said = membersOf(parsed(text));
  const { data } = said;
  if (!Array.isArray(data) || data.length !== texts) throw new NotTheProtocol('answered with another number of vectors than texts');
  const vectors = Array.from<string | undefined>({ length: texts });
  for (const [at, one] of data.entries()) {
    const { index = at, embedding } = membersOf(one);
    if (!isPlace(index, texts) || vectors[index] !== undefined) {
      throw new NotTheProtocol('answered with a vector that belongs to no text');
    }
    vectors[index] = encoded(embedding);
  }
  const whole = vectors.filter((vector) => vector !== undefined);
  if (whole.some((vector) => vector.length !== whole[0]?.length)) throw new NotTheProtocol('answered with vectors of several lengths');
  return { vectors: whole, model: textOf(said['model']), tokens: amountOf(membersOf(said['usage'])['prompt_tokens']) };
}

function isPlace(index: unknown, texts: number): index is number {
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < texts;
}

function parsed(text: string): unknown {
  try {
    const said: unknown = JSON.parse(text);
    if (isMembers(said)) return said;
  } catch {
    // Told below: it is no more use than any other text.
  }
  throw new NotTheProtocol('answered with no JSON object');
}

/** Some upstreams know no base64, and answer in numbers whatever they are asked for. */
function encoded(embedding: unknown): string {
  if (typeof embedding === 'string') return checked(Buffer.from(embedding, 'base64'));
  if (!Array.isArray(embedding) || !embedding.every((value) => typeof value === 'number')) {
    throw new NotTheProtocol('answered with something else than vectors');
  }
  const bytes = Buffer.allocUnsafe(embedding.length * FLOAT_BYTES);
  for (const [at, value] of embedding.entries()) bytes.writeFloatLE(value, at * FLOAT_BYTES);
  return checked(bytes);
}

function checked(bytes: Buffer): string {
  if (bytes.length === 0 || bytes.length % FLOAT_BYTES !== 0) throw new NotTheProtocol('answered with something else than vectors');
  for (let at = 0; at < bytes.length; at += FLOAT_BYTES) {
    if (!Number.isFinite(bytes.readFloatLE(at))) throw new NotTheProtocol('answered with a vector that holds no number');
  }
  return bytes.toString('base64');
}

import { z } from 'zod';

/**
 * Maximum lengths of texts and lists on the wire, in characters and items. All contracts use this table. Larger data is sent as a blob.
 */
export const MAX = {
  /** An id that a caller chooses: of a token, a session or a job. */
  id: 128,
  /** A name, a title, a label, a word of an open list. */
  name: 256,
  /** A reason, a summary, a sentence of an error. */
  line: 2_048,
  path: 4_096,
  /** A setting, header, variable or secret. */
  value: 8_192,
  url: 8_192,
  /** A message, a prompt or a document. No request is larger. */
  text: 1_048_576,
  /** Largest message of the bus; only results are that large. */
  payload: 8_388_608,
  /** Words out of a short closed list. */
  words: 10,
  /** A list that a person wrote by hand. */
  few: 100,
  /** A page, or a list a program wrote. */
  many: 1_000,
  /** The messages of a conversation that is sent whole. */
  messages: 10_000,
  /** A list that only an answer carries. */
  all: 100_000,
} as const;

const texts = new Map<number, z.ZodString>();

/** A text of at most so many characters: one schema for each bound, because one for each field is two megabytes in every process. */
export function boundedString(characters: number): z.ZodString {
  let text = texts.get(characters);
  if (text === undefined) texts.set(characters, (text = z.string().max(characters)));
  return text;
}

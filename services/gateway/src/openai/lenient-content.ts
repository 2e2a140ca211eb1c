import { MAX } from '@switchyard/contracts';
import { z } from 'zod';
import { text } from './openai-fields.ts';

/** A content part that is not text. The message has a note in its place. */
export interface OmittedPart {
  index: number;
  type: string;
}

const TEXT_TYPES = new Set(['text', 'input_text', 'output_text', 'summary_text', 'reasoning_text']);
const NOUNS: Readonly<Record<string, string>> = {
  image_url: 'image',
  input_image: 'image',
  input_audio: 'audio',
  file: 'file',
  input_file: 'file',
  input_video: 'video',
};

const Part = z.object({ type: z.string().max(MAX.name), text: text.optional(), refusal: text.optional() }).transform((part, ctx) => {
  const partText = part.type === 'refusal' ? part.refusal : TEXT_TYPES.has(part.type) ? part.text : toNote(part.type);
  if (partText !== undefined) return { type: part.type, text: partText };
  ctx.addIssue({ code: 'custom', message: 'a text part', params: { received: 'another part' } });
  return z.NEVER;
});

/** The content of a message that a lenient client may send: its text, and the parts that are not text. */
export const LenientContent = z.union([text, z.array(Part).max(MAX.many)]).transform((value) => {
  if (typeof value === 'string') return { text: value };
  const omitted = value
    .map(({ type }, index): OmittedPart => ({ type, index }))
    .filter(({ type }) => type !== 'refusal' && !TEXT_TYPES.has(type));
  return { text: value.map((part) => part.text).join('\n'), ...(omitted.length === 0 ? {} : { omitted }) };
});

/** Describes the part that an error is about. Types that no client library has are not repeated. */
export function describePart({ type }: OmittedPart): string {
  return NOUNS[type] === undefined ? 'another part' : `a part of type ${type}`;
}

function toNote(type: string): string {
  return `[${NOUNS[type] ?? 'part'} left out: only text is supported]`;
}

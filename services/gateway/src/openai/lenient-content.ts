import { MAX, MessageImage } from '@switchyard/contracts';
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

const IMAGE_TYPES = new Set(['image_url', 'input_image']);
const ImageUrl = z.string().max(MAX.payload);
/** The address of an image: an object in chat completions, a string in responses. */
const ImageAddress = z
  .union([ImageUrl, z.object({ url: ImageUrl }).transform(({ url }) => url)])
  .transform((url) => MessageImage.safeParse(url).data)
  .catch(undefined);

const PartFields = z.object({
  type: z.string().max(MAX.name),
  text: text.optional(),
  refusal: text.optional(),
  image_url: ImageAddress.optional(),
});

/** A part as text, or as a note if it is not text. */
const Part = PartFields.transform((part, ctx) => {
  const partText = part.type === 'refusal' ? part.refusal : TEXT_TYPES.has(part.type) ? part.text : toNote(part.type);
  const image = IMAGE_TYPES.has(part.type) ? part.image_url : undefined;
  if (partText !== undefined) return { type: part.type, text: partText, image };
  ctx.addIssue({ code: 'custom', message: 'a text part', params: { received: 'another part' } });
  return z.NEVER;
});

/** The content of a message that a lenient client may send, in parts. */
export const LenientParts = z.union([text, z.array(Part).max(MAX.many)]);

interface Content {
  text: string;
  images?: string[];
  omitted?: OmittedPart[];
}

/** Splits content into its text, its images, and the parts that the text has a note for. Only the models know whether they take images. */
export function splitContent(parts: z.output<typeof LenientParts>, keepsImages: boolean): Content {
  if (typeof parts === 'string') return { text: parts };
  const images = keepsImages ? parts.flatMap(({ image }) => image ?? []).slice(0, MAX.few) : [];
  const isKept = ({ image }: { image: string | undefined }): boolean => image !== undefined && images.includes(image);
  const omitted = parts.flatMap((part, index): OmittedPart[] =>
    part.type === 'refusal' || TEXT_TYPES.has(part.type) || isKept(part) ? [] : [{ type: part.type, index }],
  );
  const texts = parts.filter((part) => !isKept(part)).map((part) => part.text);
  return {
    text: texts.join('\n'),
    ...(images.length === 0 ? {} : { images }),
    ...(omitted.length === 0 ? {} : { omitted }),
  };
}

/** The content of a message whose images are passed on. */
export const LenientContent = LenientParts.transform((parts) => splitContent(parts, true));
/** The content of a message that has text only for every provider. */
export const LenientText = LenientParts.transform((parts) => splitContent(parts, false));

/** Describes the part that an error is about. Types that no client library has are not repeated. */
export function describePart({ type }: OmittedPart): string {
  return NOUNS[type] === undefined ? 'another part' : `a part of type ${type}`;
}

function toNote(type: string): string {
  return `[${NOUNS[type] ?? 'part'} left out: only text is supported]`;
}

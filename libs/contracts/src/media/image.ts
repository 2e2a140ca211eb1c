import { z } from 'zod';
import { IdempotencyKey } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { MEDIA_USAGE } from './usage-event.ts';

/** An image, sent to the caller's channel or given inline; or why there is none. */
export const GeneratedImage = z.discriminatedUnion('success', [
  z.object({
    success: z.literal(true),
    delivered: z.literal(true).optional().describe('sent to the channel of the call'),
    imageBase64: boundedString(MAX.payload).optional(),
    mimeType: boundedString(MAX.name),
  }),
  z.object({ success: z.literal(false), error: boundedString(MAX.line) }),
]);

/** Description of an image or a video by a model. */
export const VisualDescription = z.object({
  description: boundedString(MAX.text),
  provider: boundedString(MAX.name),
  model: boundedString(MAX.name),
});

export const IMAGE_DEADLINE_MS = 90_000;

const Prompt = z.string().min(1).max(10_000);

export const imageMethods = defineMethods({
  'image.generate': {
    summary: 'Generates an image from a description.',
    description:
      'The image is sent to the channel of the call; without a channel it is in the result. The result contains the reason of a failure: no provider, hourly limit, refusal.',
    scope: 'rpc',
    params: z.strictObject({
      prompt: z.string().max(10_000),
      size: z.string().min(1).max(32).optional().describe('for example 1024x1024; default: imageGen.defaultSize'),
      idempotencyKey: IdempotencyKey.optional(),
    }),
    result: GeneratedImage,
    effect: 'mutate',
    deadlineMs: IMAGE_DEADLINE_MS,
    blobs: ['*'],
    emits: [MEDIA_USAGE, 'observability:token_usage', 'message:sent'],
    examples: [
      {
        params: { prompt: 'a railway yard at dusk, ink drawing', size: '1024x1024' },
        result: { success: true, imageBase64: 'iVBORw0KGgo=', mimeType: 'image/png' },
      },
      { params: { prompt: 'another one' }, result: { success: false, error: 'no more than 10 images an hour' } },
    ],
  },
  'image.analyze': {
    summary: 'Describes an image.',
    description:
      'A file must be in the agent’s workspace, an address must be public. If media.vision.scopeRules forbid it, the description contains the reason.',
    scope: 'rpc',
    params: z.strictObject({
      source: z.string().min(1).max(MAX.payload).describe('path, address, base64 or attachment, according to source_type'),
      source_type: z.enum(['file', 'url', 'base64', 'attachment']),
      prompt: Prompt.optional(),
      mime_type: z.string().min(1).max(128).optional(),
    }),
    result: VisualDescription,
    effect: 'read',
    deadlineMs: IMAGE_DEADLINE_MS,
    idempotent: true,
    blobs: ['source', 'description'],
    errors: ['NOT_FOUND', 'PERMISSION_DENIED', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    emits: [MEDIA_USAGE, 'observability:token_usage'],
    examples: [
      {
        params: { source: 'media/yard.png', source_type: 'file', prompt: 'How many tracks are there?' },
        result: { description: 'Five tracks run in parallel; the second carries a train.', provider: 'openai', model: 'gpt-4o' },
      },
    ],
  },
});

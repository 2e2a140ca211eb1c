import { z } from 'zod';
import { BlobRef } from '../values/blob-ref.ts';
import { AgentId } from '../values/common.ts';
import { defineOperations } from '../definition/define.ts';
import { createUsageListSpec } from '../sessions/usage-list.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { MEDIA_USAGE } from './usage-event.ts';

const PREPARE_DEADLINE_MS = 120_000;

/** A file that came with a message. */
const Attachment = z.strictObject({
  blob: BlobRef,
  name: boundedString(MAX.name).optional(),
  contentType: boundedString(MAX.name),
});

/** The operations of the media service that other services call. */
export const mediaOperations = defineOperations({
  'media.prepare': {
    summary: 'Turns the attachments of a message into text for a model.',
    callers: ['channels', 'sessions', 'graph'],
    params: z.strictObject({ agentId: AgentId, attachments: z.array(Attachment).min(1).max(MAX.few) }),
    result: z.object({
      parts: z
        .array(
          z.object({
            kind: z.enum(['audio', 'image', 'video', 'document', 'other']),
            text: boundedString(MAX.text).describe('transcript, description or extracted text'),
            notice: boundedString(MAX.line).optional().describe('why there is no text'),
          }),
        )
        .max(MAX.few)
        .describe('in the order of the attachments'),
    }),
    blobs: ['attachments', 'parts'],
    deadlineMs: PREPARE_DEADLINE_MS,
    idempotent: true,
    emits: [MEDIA_USAGE],
  },
  'media.usage.list': createUsageListSpec([MEDIA_USAGE], 'recorded usage of providers'),
});

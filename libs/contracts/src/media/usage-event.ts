import { z } from 'zod';
import { defineEvents } from '../definition/define.ts';
import { createUsagePayload } from '../sessions/usage-event.ts';

/** The purposes of provider calls by the media service. */
export const MediaUsagePurpose = z.enum(['transcription', 'speech', 'image', 'vision', 'video']);
export type MediaUsagePurpose = z.infer<typeof MediaUsagePurpose>;

export const MEDIA_USAGE = 'media:usage_recorded';

export const mediaUsageEvents = defineEvents({
  [MEDIA_USAGE]: {
    summary: 'Providers of speech, images or vision were called. The usage of a provider that reports no tokens is unknown.',
    beyond: true,
    payload: createUsagePayload(MediaUsagePurpose),
    example: {
      records: [
        {
          id: 'spent_4fT0mUq2Zs8KxY1bNcVdGh',
          purpose: 'vision',
          agentId: 'default',
          client: 'alice',
          model: 'google/gemini-3.5-flash-lite',
          outcome: 'answered',
          usage: { calls: 1, unknownCalls: 0, input: 1290, output: 96, cacheRead: 0, cacheWrite: 0, costUsd: 0.0006 },
          finishedAt: 1763719201250,
        },
      ],
    },
  },
});

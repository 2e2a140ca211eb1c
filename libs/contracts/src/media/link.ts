import { z } from 'zod';
import { Count } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** The text with what its links say appended; a link that failed leaves it as it was. */
export const EnrichedText = z.object({
  enrichedText: boundedString(MAX.text),
  linksProcessed: Count,
  errors: z.array(boundedString(MAX.line)).max(MAX.many),
});

/** Three links of ten seconds each. */
export const LINK_DEADLINE_MS = 45_000;

export const linkMethods = defineMethods({
  'link.process': {
    summary: 'Appends the content of links in a text.',
    description: 'Internal addresses are rejected, also as redirect targets.',
    scope: 'rpc',
    params: z.strictObject({ text: boundedString(MAX.text) }),
    result: EnrichedText,
    effect: 'read',
    deadlineMs: LINK_DEADLINE_MS,
    idempotent: true,
    blobs: ['enrichedText', 'text', 'errors'],
    emits: ['security:injection_detected'],
    examples: [
      {
        params: { text: 'See http://example.com' },
        result: {
          enrichedText: 'See http://example.com\n\nExample Domain: for use in illustrative examples.',
          linksProcessed: 1,
          errors: [],
        },
      },
      {
        params: { text: 'See http://127.0.0.1/' },
        result: { enrichedText: 'See http://127.0.0.1/', linksProcessed: 0, errors: ['http://127.0.0.1/: the address is not public'] },
      },
    ],
  },
});

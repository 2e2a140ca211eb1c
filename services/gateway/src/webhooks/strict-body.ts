import { MAX } from '@switchyard/contracts';
import { z } from 'zod';
import type { Answering } from './delivery.ts';
import type { Mapping } from './mappings.ts';

/** What the strict endpoint takes. Senders may add to it. */
export const StrictPayload = z.looseObject({
  event: z.string().min(1).max(MAX.name),
  source: z.string().min(1).max(MAX.name),
  data: z.record(z.string().max(MAX.line), z.unknown()),
  timestamp: z.iso.datetime({ offset: true }).max(64).optional(),
});

/** Where a mapping has its path. */
export const STRICT_PATH = 'webhook';

/** What becomes of an event that no mapping is for: each source has a session, and the default agent hears of it. */
export function unmapped(source: string): Pick<Mapping, Answering> {
  return { name: '@strict', agentId: undefined, sessionKey: () => source, message: undefined, model: undefined, timeoutMs: undefined };
}

import { MAX } from '@switchyard/contracts';
import { z } from 'zod';
import type { TurnSettings } from './delivery.ts';
import type { Mapping } from './mappings.ts';

/** Body of the strict endpoint. Senders may add fields. */
export const StrictPayload = z.looseObject({
  event: z.string().min(1).max(MAX.name),
  source: z.string().min(1).max(MAX.name),
  data: z.record(z.string().max(MAX.line), z.unknown()),
  timestamp: z.iso.datetime({ offset: true }).max(64).optional(),
});

/** Path of the strict endpoint. */
export const STRICT_PATH = 'webhook';

/** The mapping of events without a configured one: one session per source, handled by the default agent. */
export function createDefaultMapping(source: string): Pick<Mapping, TurnSettings> {
  return { name: '@strict', agentId: undefined, sessionKey: () => source, message: undefined, model: undefined, timeoutMs: undefined };
}

import type { Bus, CallOptions } from '@switchyard/bus';
import { MAX } from '@switchyard/contracts';
import { createSenderPrincipal } from './delivery.ts';
import type { Mapping } from './mappings.ts';
import type { TemplateVariables } from './template.ts';

/** The wake of a delivery. */
export interface HookWake {
  mapping: Pick<Mapping, 'name' | 'agentId' | 'text' | 'wakeMode'>;
  variables: TemplateVariables;
  /** The same key for every repetition of a delivery. */
  key: string;
  tenant: string;
}

/** Stores the event for the heartbeats of the mapping. Resolves with whether it was a repetition. Does not wait for a heartbeat. */
export async function wakeHeartbeats(bus: Bus, wake: HookWake, options: CallOptions): Promise<{ repeated: boolean }> {
  const { mapping, variables, key, tenant } = wake;
  const { name: source, agentId, text, wakeMode: mode } = mapping;
  const params = {
    source,
    text: text?.(variables, MAX.text) ?? '',
    mode,
    idempotencyKey: key,
    ...(agentId === undefined ? {} : { agentId }),
  };
  const { repeated } = await bus.as(createSenderPrincipal(source, tenant)).call('heartbeats.wake', params, options);
  return { repeated };
}

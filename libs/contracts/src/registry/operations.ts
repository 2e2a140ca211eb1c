import { z } from 'zod';
import { AgentId } from '../common.ts';
import { MAX, upTo } from '../sizes.ts';

/** One entry of `/v1/models`: something a client may name as its model. */
export const VisibleModel = z.object({
  id: upTo(MAX.name).describe('an agent id or provider/model'),
  ownedBy: upTo(MAX.name),
});

export const VisibleAgent = z.object({
  id: AgentId,
  name: upTo(MAX.name),
  provider: upTo(MAX.name),
  model: upTo(MAX.name),
  status: z.enum(['active', 'suspended']),
});

/** What the edge needs of the control plane beyond the public methods. */
export const registryOperations = {
  'models.visible': {
    summary: 'The names a /v1 client may use as a model.',
    callers: ['gateway'] as const,
    params: z.strictObject({}),
    result: z.object({ models: z.array(VisibleModel).max(MAX.all) }),
    blobs: ['models'],
    idempotent: true,
  },
  'agents.visible': {
    summary: 'The agents of the caller’s tenant, with their models.',
    callers: ['gateway'] as const,
    params: z.strictObject({}),
    result: z.object({ agents: z.array(VisibleAgent).max(MAX.all) }),
    blobs: ['agents'],
    idempotent: true,
  },
};

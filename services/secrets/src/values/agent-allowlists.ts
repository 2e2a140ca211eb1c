import type { Bus } from '@switchyard/bus';
import { AgentConfig, AgentProjection, AGENTS_BUCKET, bucketKey } from '@switchyard/contracts';
import { watchBucket } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { z } from 'zod';
import type { AgentAllowlist } from './secret-access.ts';

/** Parses only the allowlist, so that an agent that is invalid otherwise keeps it. */
const Agent = AgentProjection.extend({ config: z.object({ secrets: AgentConfig.shape.secrets }) });

/** Watches the secrets that each agent may read. */
export async function watchAgentAllowlists(bus: Bus, log: Logger): Promise<{ get: AgentAllowlist } & AsyncDisposable> {
  const agents = await watchBucket(bus, AGENTS_BUCKET, Agent, log);
  return {
    get: (tenant, agentId) => agents.entries.get(bucketKey(tenant, agentId))?.config.secrets.allow,
    [Symbol.asyncDispose]: () => agents[Symbol.asyncDispose](),
  };
}

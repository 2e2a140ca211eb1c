import { bucketKey, OFFERED_TOOLS_BUCKET, OfferedTools, type OfferedTool } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { watchBucket } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';

export type OfferedToolList = readonly OfferedTool[];

/** Tools of MCP servers and skills, as the tools service has published them. */
export interface OfferedToolDirectory extends AsyncDisposable {
  /** Returns the same array until an offer changes. */
  find(tenant: string, agentId: string): OfferedToolList | undefined;
}

export async function openOfferedTools(bus: Bus, log: Logger): Promise<OfferedToolDirectory> {
  const offers = await watchBucket(bus, OFFERED_TOOLS_BUCKET, OfferedTools, log);
  return {
    find: (tenant, agentId) => offers.entries.get(bucketKey(tenant, agentId))?.tools,
    [Symbol.asyncDispose]: () => offers[Symbol.asyncDispose](),
  };
}

import type { Caller } from '../request/caller.ts';
import type { Edge } from '../http/edge.ts';
import type { Grant } from './grant.ts';
import type { ToolUse } from './tools.ts';

/** One request of an MCP client: nothing of it outlives its response. */
export interface McpExchange {
  edge: Edge;
  caller: Caller;
  grant: Grant;
  requestId: string;
  use: Omit<ToolUse, 'alive'>;
}

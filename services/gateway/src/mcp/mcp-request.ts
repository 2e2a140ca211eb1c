import type { Caller } from '../request/caller.ts';
import type { Edge } from '../http/edge.ts';
import type { Grant } from './grant.ts';
import type { ToolContext } from './tools.ts';

/** One request of an MCP client, which ends with its response. */
export interface McpRequest {
  edge: Edge;
  caller: Caller;
  grant: Grant;
  requestId: string;
  context: Omit<ToolContext, 'reportProgress'>;
}

import { z } from 'zod';
import { texts, Positive } from './kinds.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Permissions of a token with the scope `mcp-client` at `/mcp`. Unnamed tools are denied. */
export const McpClient = z.strictObject({
  allowlist: texts().describe('tools the client may call'),
  sessionAllowlist: texts().describe('sessions the client may read'),
  toolRateLimit: z
    .record(boundedString(MAX.name), Positive)
    .check(maxKeys(MAX.many))
    .default({})
    .describe('calls a minute by tool; default 30'),
});
export type McpClient = z.infer<typeof McpClient>;

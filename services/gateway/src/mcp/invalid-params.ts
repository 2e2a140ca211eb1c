import type { Fault } from '../rpc/json-rpc-responses.ts';
import type { McpLibrary } from './mcp-server.ts';

/** Requests whose invalid params the MCP library reports as internal errors, and their types in the specification. */
const CHECKED_REQUESTS = { initialize: 'InitializeRequest', 'resources/read': 'ReadResourceRequest' } as const;

/** Returns the error -32602 for params that do not match the specification, for example `initialize` without a version. */
export function findInvalidParams({ specTypeSchemas, INVALID_PARAMS }: McpLibrary, message: unknown): Fault | undefined {
  const { method } = message as { method: string };
  if (!isChecked(method)) return undefined;
  const result = specTypeSchemas[CHECKED_REQUESTS[method]]['~standard'].validate(message);
  if (result.issues === undefined) return undefined;
  const issues = result.issues.map(({ path = [], message: problem }) => `${path.map(String).join('.')}: ${problem}`);
  return { number: INVALID_PARAMS, code: 'INVALID_ARGUMENT', message: `Invalid params: ${issues.join('; ')}` };
}

function isChecked(method: string): method is keyof typeof CHECKED_REQUESTS {
  return Object.hasOwn(CHECKED_REQUESTS, method);
}

import type { ReadResourceResult, Resource } from '@modelcontextprotocol/server';
import { ServiceError } from '@switchyard/contracts';
import type { McpRequest } from './mcp-request.ts';

const PREFIX = 'switchyard://sessions/';
const TYPE = 'application/json';

/** The sessions that the token may read. */
export function listSessionResources({ grant }: McpRequest): Resource[] {
  return grant.sessions.map((key) => ({
    uri: createUri(key),
    name: key,
    description: 'The messages of a session, oldest first.',
    mimeType: TYPE,
  }));
}

/** Reads a session; undefined when the session does not exist or the token may not read it. */
export async function readSession({ edge, caller, grant, context: use }: McpRequest, uri: string): Promise<ReadResourceResult | undefined> {
  const key = grant.sessions.find((sessionKey) => createUri(sessionKey) === uri);
  if (key === undefined) return undefined;
  try {
    const history = await edge.bus.as(caller.principal).call('session.history', { session_key: key }, use.options);
    return { contents: [{ uri, mimeType: TYPE, text: JSON.stringify(history) }] };
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

function createUri(key: string): string {
  return `${PREFIX}${encodeURIComponent(key)}`;
}

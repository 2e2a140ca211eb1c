import type { ReadResourceResult, Resource } from '@modelcontextprotocol/server';
import { ServiceError } from '@switchyard/contracts';
import type { McpExchange } from './mcp-request.ts';

const PREFIX = 'switchyard://sessions/';
const TYPE = 'application/json';

/** The sessions that the token was given to read. */
export function sessionResources({ grant }: McpExchange): Resource[] {
  return grant.sessions.map((key) => ({
    uri: uriOf(key),
    name: key,
    description: 'The messages of one session, oldest first.',
    mimeType: TYPE,
  }));
}

/** One of them; undefined for any other, and for one that is not there. */
export async function readSession({ edge, caller, grant, use }: McpExchange, uri: string): Promise<ReadResourceResult | undefined> {
  const key = grant.sessions.find((one) => uriOf(one) === uri);
  if (key === undefined) return undefined;
  try {
    const history = await edge.bus.as(caller.principal).call('session.history', { session_key: key }, use.options);
    return { contents: [{ uri, mimeType: TYPE, text: JSON.stringify(history) }] };
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

function uriOf(key: string): string {
  return `${PREFIX}${encodeURIComponent(key)}`;
}

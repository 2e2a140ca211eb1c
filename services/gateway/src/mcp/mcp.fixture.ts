import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client';
import type { Handlers } from '@switchyard/bus';
import { memory, registry, type McpClient, type sessions } from '@switchyard/contracts';
import { SECRETS, startTestGateway, type TestGateway, type TestGatewayOptions } from '../gateway.fixture.ts';

export const ERAS = ['2026-07-28', '2025-11-25'] as const;
export type Era = (typeof ERAS)[number];

const agent = (id: string, status: 'active' | 'suspended' = 'active') => ({
  id,
  name: id.toUpperCase(),
  provider: 'dev',
  model: 'echo',
  status,
});
export const SEARCH_RESULT = {
  results: [
    { id: 'mem_1', content: 'Oslo', memoryType: 'semantic' as const, trustLevel: 'user' as const, score: 0.5, createdAt: 1, tags: [] },
  ],
};

export interface McpTestOptions extends TestGatewayOptions {
  handlers?: Handlers<typeof sessions>;
  search?: Handlers<typeof memory>['memory.search'];
}

/** A gateway with two active agents, a suspended agent and a memory service. */
export async function startMcp({ search = () => SEARCH_RESULT as never, ...options }: McpTestOptions = {}): Promise<TestGateway> {
  const gateway = await startTestGateway(options);
  const agents = [agent('default'), agent('oslo'), agent('asleep', 'suspended')];
  await gateway.bus.serve(registry, { 'agents.visible': () => ({ agents }) }, { version: '0.0.0' });
  await gateway.bus.serve(memory, { 'memory.search': search }, { version: '0.0.0' });
  return gateway;
}

/** Grants MCP permissions to the token `mcp`, or to a token with this id and secret. */
export function grant(gateway: TestGateway, mcpClient: Partial<McpClient>, token = { id: 'mcp', secret: SECRETS.mcp as string }) {
  const permissions = { allowlist: [], sessionAllowlist: [], toolRateLimit: {}, ...mcpClient };
  return gateway.putToken({ ...token, scopes: ['mcp-client'], mcpClient: permissions, ver: 2 });
}

/** An official MCP client of this protocol revision. */
export async function connect(
  { url }: Pick<TestGateway, 'url'>,
  era: Era,
  secret: string = SECRETS.mcp,
): Promise<Client & AsyncDisposable> {
  const mode = era === '2025-11-25' ? 'legacy' : { pin: era };
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${secret}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** The text of a result. */
export function toText({ content }: Pick<CallToolResult, 'content'>): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

import { z } from 'zod';
import { Count, JsonObject, NoParams, Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { resolveAliases } from '../values/field-aliases.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

export const McpServerName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9_.-]{1,64}$/)
  .describe('letters, digits, - _ and .');

export const McpState = z.enum(['disconnected', 'connecting', 'connected', 'reconnecting', 'error']);
export const McpTransport = z.enum(['stdio', 'sse', 'http']);

const Version = z.object({ name: boundedString(MAX.name), version: boundedString(MAX.name) });

/** A configured server, as the list shows it. */
export const McpServer = z.object({
  id: boundedString(MAX.id).describe('same as name'),
  name: boundedString(MAX.name),
  status: McpState,
  toolCount: Count,
  reconnectAttempt: Count,
  lastHealthCheck: Timestamp.optional(),
  error: boundedString(MAX.line).optional(),
  capabilities: JsonObject.optional(),
  serverVersion: Version.optional(),
});
export type McpServer = z.infer<typeof McpServer>;

export const McpServerList = z.object({ servers: z.array(McpServer).max(MAX.all), total: Count });

export const McpTool = z.object({
  name: boundedString(MAX.name),
  qualifiedName: boundedString(MAX.name).describe('mcp:<server>/<tool>'),
  callableName: boundedString(MAX.name).describe('mcp__<server>--<tool>, as agents call it'),
  description: boundedString(MAX.text).optional(),
});

export const McpServerStatus = McpServer.extend({
  tools: z.array(McpTool).max(MAX.all),
  maxReconnectAttempts: Count,
  generation: Count.describe('number of connections'),
  serverInfo: Version.optional(),
  instructions: boundedString(MAX.text).optional(),
});

export const McpConnected = z.object({
  id: boundedString(MAX.id),
  name: boundedString(MAX.name),
  status: McpState,
  toolCount: Count,
  tools: z.array(McpTool).max(MAX.all),
  persistence: z.enum(['persisted', 'runtime_only', 'skipped']),
  warning: boundedString(MAX.line).optional(),
});

export const McpDisconnected = z.object({ id: boundedString(MAX.id), name: boundedString(MAX.name), status: z.literal('disconnected') });

/** A test that fails says why; it is no error of the call. */
export const McpTestResult = z.object({
  success: z.boolean(),
  toolCount: Count.optional(),
  tools: z.array(McpTool).max(MAX.all).optional(),
  error: boundedString(MAX.line).optional(),
});

const settings = {
  transport: McpTransport.optional(),
  command: z.string().min(1).max(4096).optional().describe('stdio: the program'),
  args: z.array(boundedString(MAX.path)).max(200).optional(),
  url: z
    .url({ protocol: /^https?$/ })
    .max(MAX.url)
    .optional()
    .describe('sse and http: the address'),
  env: z
    .record(z.string().min(1).max(MAX.name), boundedString(MAX.value))
    .check(maxKeys(MAX.many))
    .optional()
    .describe('values may be {{secret:NAME}}'),
  headers: z
    .record(z.string().min(1).max(MAX.name), boundedString(MAX.value))
    .check(maxKeys(MAX.few))
    .optional()
    .describe('values may be {{secret:NAME}}'),
  cwd: z.string().min(1).max(4096).optional(),
  maxConcurrency: z.int().min(1).max(64).optional().describe('default: 1 for stdio, 4 for others'),
};

const spellings = { server_name: ['name', 'serverId'] };
const named = { server_name: McpServerName, name: McpServerName, serverId: McpServerName };

/** A configured server. The output has `server_name`. */
export const McpServerRef = z
  .strictObject(named)
  .partial()
  .transform((value, ctx) => resolveAliases(value, spellings, ctx))
  .pipe(z.strictObject({ server_name: McpServerName }));

/** A configured server by its name, or a whole one: a transport, said or implied, brings what that transport needs. */
export const McpServerConfig = z
  .strictObject({ ...named, ...settings })
  .partial()
  .transform((value, ctx) => resolveAliases(value, spellings, ctx))
  .pipe(
    z
      .strictObject({ server_name: McpServerName, ...settings })
      .check(requireAddress)
      .transform(withTransport),
  );

/** As `McpServerConfig`, but a server that is only tried needs no name. */
export const McpServerCandidate = z
  .strictObject({ ...named, ...settings })
  .partial()
  .transform((value, ctx) => resolveAliases(value, spellings, ctx))
  .pipe(
    z
      .strictObject({ server_name: McpServerName.optional(), ...settings })
      .check(requireAddress, requireSomething)
      .transform(withTransport),
  );

interface Config {
  server_name?: string | undefined;
  transport?: z.infer<typeof McpTransport> | undefined;
  command?: string | undefined;
  url?: string | undefined;
}

function requireAddress({ value, issues }: z.core.ParsePayload<Config>): void {
  if (value.transport === undefined) return;
  const needed = value.transport === 'stdio' ? 'command' : 'url';
  if (value[needed] !== undefined) return;
  issues.push({ code: 'invalid_type', expected: 'string', path: [needed], input: undefined });
}

function requireSomething({ value, issues }: z.core.ParsePayload<Config>): void {
  if (value.server_name !== undefined || value.transport !== undefined || impliedTransport(value) !== undefined) return;
  issues.push({ code: 'custom', path: ['server_name'], message: 'a server name, or either a command or a url', input: undefined });
}

/** A command can only mean stdio, an address streamable HTTP; both or neither say nothing. */
function impliedTransport({ command, url }: Config): z.infer<typeof McpTransport> | undefined {
  if ((command === undefined) === (url === undefined)) return undefined;
  return command === undefined ? 'http' : 'stdio';
}

function withTransport<C extends Config>(value: C): C {
  const transport = value.transport ?? impliedTransport(value);
  return transport === undefined ? value : { ...value, transport };
}

const CONNECT_DEADLINE_MS = 45_000;
const alias = 'server_name, name or serverId selects the server.';
const implied =
  'The default transport is stdio with command and streamable HTTP with url; both or neither is rejected unless the server is configured.';

const row = { id: 'files', name: 'files', status: 'connected', toolCount: 1 };
const tools = [{ name: 'read', qualifiedName: 'mcp:files/read', callableName: 'mcp__files--read', description: 'Reads a file.' }];

export const mcpMethods = defineMethods({
  'mcp.list': {
    summary: 'Lists the MCP servers with their state and number of tools.',
    scope: 'admin',
    params: NoParams,
    result: McpServerList,
    idempotent: true,
    examples: [{ params: {}, result: { servers: [{ ...row, reconnectAttempt: 0 }], total: 1 } }],
  },
  'mcp.status': {
    summary: 'Returns the state and tools of one MCP server.',
    description: alias,
    scope: 'admin',
    params: McpServerRef,
    result: McpServerStatus,
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: { server_name: 'files' },
        result: {
          ...row,
          reconnectAttempt: 0,
          tools,
          maxReconnectAttempts: 5,
          generation: 1,
          serverInfo: { name: 'filesystem', version: '2.1.0' },
        },
      },
    ],
  },
  'mcp.connect': {
    summary: 'Connects to a configured or given MCP server.',
    description: `${alias} ${implied} A given server is stored, and its tools are available immediately.`,
    scope: 'admin',
    audited: 'mutate',
    params: McpServerConfig,
    result: McpConnected,
    deadlineMs: CONNECT_DEADLINE_MS,
    idempotent: true,
    errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'PERMISSION_DENIED', 'UNAVAILABLE'],
    emits: ['config:patched', 'audit:event'],
    examples: [
      {
        params: { server_name: 'files', transport: 'stdio', command: 'mcp-files', args: ['/srv/documents'] },
        result: { ...row, tools, persistence: 'persisted' },
      },
      {
        params: {
          name: 'tickets',
          transport: 'http',
          url: 'https://example.com/mcp',
          headers: { Authorization: '{{secret:TICKETS_TOKEN}}' },
        },
        result: { id: 'tickets', name: 'tickets', status: 'connected', toolCount: 0, tools: [], persistence: 'persisted' },
      },
    ],
  },
  'mcp.disconnect': {
    summary: 'Disconnects an MCP server and removes its tools.',
    description: alias,
    scope: 'admin',
    audited: 'mutate',
    params: McpServerRef,
    result: McpDisconnected,
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [{ params: { serverId: 'files' }, result: { id: 'files', name: 'files', status: 'disconnected' } }],
  },
  'mcp.reconnect': {
    summary: 'Reconnects an MCP server.',
    description: alias,
    scope: 'admin',
    audited: 'mutate',
    params: McpServerRef,
    result: McpConnected,
    deadlineMs: CONNECT_DEADLINE_MS,
    idempotent: true,
    errors: ['NOT_FOUND', 'UNAVAILABLE'],
    examples: [{ params: { name: 'files' }, result: { ...row, tools, persistence: 'skipped' } }],
  },
  'mcp.test': {
    summary: 'Tests a connection to an MCP server.',
    description: `${alias} A given configuration is tested without being stored. ${implied} Timeout: 15 seconds.`,
    scope: 'admin',
    params: McpServerCandidate,
    result: McpTestResult,
    idempotent: true,
    errors: ['NOT_FOUND', 'PERMISSION_DENIED'],
    examples: [
      { params: { server_name: 'files' }, result: { success: true, toolCount: 1, tools } },
      {
        params: { transport: 'http', url: 'https://example.com/mcp' },
        result: { success: false, error: 'no answer within 15 seconds' },
      },
    ],
  },
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import { parseParams } from '../definition/validation.ts';
import { mcpMethods } from './mcp.ts';

const status = mcpMethods['mcp.status'].params;
const connect = mcpMethods['mcp.connect'].params;
const tried = mcpMethods['mcp.test'].params;

function refused(schema: z.ZodType, params: unknown, message: string): void {
  assert.throws(() => parseParams(schema, params), { code: 'INVALID_ARGUMENT', message: `Invalid params: ${message}` });
}

test('a server goes by any of its three names, and comes out under one', () => {
  for (const spelling of ['server_name', 'name', 'serverId']) {
    assert.deepEqual(parseParams(status, { [spelling]: 'files' }), { server_name: 'files' });
    assert.deepEqual(parseParams(connect, { [spelling]: 'files' }), { server_name: 'files' });
    assert.deepEqual(parseParams(tried, { [spelling]: 'files' }), { server_name: 'files' });
  }
});

test('no name and two names are refused', () => {
  refused(status, {}, 'server_name: expected string, got nothing');
  refused(status, { name: 'files', serverId: 'tickets' }, 'serverId: expected only one of server_name, name, serverId, got string');
  refused(connect, { transport: 'stdio', command: 'mcp-files' }, 'server_name: expected string, got nothing');
});

test('a transport brings what it needs', () => {
  refused(connect, { name: 'files', transport: 'stdio' }, 'command: expected string, got nothing');
  refused(connect, { name: 'files', transport: 'http', command: 'mcp-files' }, 'url: expected string, got nothing');
  refused(tried, { transport: 'sse' }, 'url: expected string, got nothing');
  assert.deepEqual(parseParams(connect, { name: 'tickets', transport: 'http', url: 'https://example.com/mcp' }), {
    server_name: 'tickets',
    transport: 'http',
    url: 'https://example.com/mcp',
  });
});

test('without a transport a command means stdio and an address streamable HTTP; both or neither say nothing', () => {
  const [command, url] = ['mcp-files', 'https://example.com/mcp'];
  assert.equal(parseParams(connect, { name: 'files', command }).transport, 'stdio');
  assert.equal(parseParams(connect, { name: 'files', url }).transport, 'http');
  assert.equal(parseParams(tried, { url }).transport, 'http');
  assert.equal(parseParams(connect, { name: 'files', command, url }).transport, undefined);
  assert.equal(parseParams(connect, { name: 'files' }).transport, undefined);
  refused(tried, { command, url }, 'server_name: expected a server name, or either a command or a url, got nothing');
});

test('only the web is an address', () => {
  assert.throws(
    () => parseParams(connect, { name: 'x', transport: 'http', url: 'file:///etc/passwd' }),
    /^ServiceError: Invalid params: url: /,
  );
});

test('a test needs a server, by name or as a whole', () => {
  refused(tried, {}, 'server_name: expected a server name, or either a command or a url, got nothing');
  assert.deepEqual(parseParams(tried, { transport: 'stdio', command: 'mcp-files' }), { transport: 'stdio', command: 'mcp-files' });
});

test('undeclared fields are rejected', () => {
  refused(connect, { name: 'files', port: 80 }, 'port: expected no such parameter, got an unknown name');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Running } from './embedded.ts';
import { call } from './exchange.ts';
import { onEachProfile } from './profiles.ts';
import { surfaces } from './surfaces.ts';

/** The model calls the tool that the message names, and answers with its result. */
const AGENT = 'listener';
const HEARD = /development speech recognition|dev\/stt/;

/** Calls a tool with the official MCP client. */
async function callOverMcp(product: Running, token: string, call: { name: string; arguments: Record<string, unknown> }): Promise<string> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${product.url}/mcp`), { requestInit }));
  try {
    const { content } = await client.callTool(call);
    return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  } finally {
    await client.close();
  }
}

onEachProfile(
  'attachments',
  (product) => {
    let attachment = '';

    test('speech is a file that has the declared type and size', async () => {
      const spoken = await call<{ filePath: string; mimeType: string; sizeBytes: number }>(product, 'tts.synthesize', {
        text: 'The train leaves at nine.',
        format: 'wav',
      });
      attachment = spoken.filePath;
      const response = await fetch(product.url + attachment, { headers: { authorization: `Bearer ${product.token}` } });
      assert.deepEqual([response.status, response.headers.get('content-type')], [200, spoken.mimeType]);
      assert.equal((await response.arrayBuffer()).byteLength, spoken.sizeBytes);
    });

    test('an agent hears an attachment, over RPC, REST and MCP', async () => {
      const message = `transcribe_audio ${JSON.stringify({ attachment_url: attachment })}`;
      for (const name of ['rpc', 'chat'] as const) {
        const { response, failure } = await surfaces[name](product, { message, agent: AGENT });
        assert.match(response ?? '', HEARD, `${name}: ${JSON.stringify(failure)}`);
      }
      assert.match(await callOverMcp(product, product.token, { name: `agent_${AGENT}`, arguments: { message } }), HEARD);
    });

    test('an MCP client whose token allows one tool hears it too', async () => {
      const name = 'transcribe_audio';
      const token = { id: 'mcp', scopes: ['mcp-client'], mcpClient: { allowlist: [name] } };
      const { secret } = await call<{ secret: string }>(product, 'tokens.create', token);
      assert.match(await callOverMcp(product, secret, { name, arguments: { attachment_url: attachment } }), HEARD);
    });

    test('an agent of another tenant does not find the attachment', async () => {
      const { secret } = await call<{ secret: string }>(product, 'tokens.create', { id: 'stranger', scopes: ['rpc'], tenant: 'elsewhere' });
      const response = await fetch(`${product.url}/rpc`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'media.transcribe', params: { attachment_url: attachment } }),
      });
      const { error } = (await response.json()) as { error?: { data?: { code?: string } } };
      assert.equal(error?.data?.code, 'NOT_FOUND', JSON.stringify(error));
    });
  },
  { start: () => ({ config: { agents: { default: {}, [AGENT]: { model: 'dev/tools', deferredTools: { mode: 'never' } } } } }) },
);

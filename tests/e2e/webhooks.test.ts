import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sign } from '@octokit/webhooks-methods';
import { tempDir } from '@switchyard/testkit';
import { startEmbedded, type Running } from './embedded.ts';
import { sendRequest } from './exchange.ts';

const TOKEN = 'a key that the operator and the host share';
const config = {
  webhooks: { enabled: true, presets: ['github'], token: { source: 'env', provider: 'default', id: 'HOOK_KEY' } },
  agents: { default: { provider: 'dev', model: 'echo' } },
};
const body = JSON.stringify({ action: 'opened', repository: { full_name: 'octo/repo' }, sender: { login: 'octocat' } });
const SESSION = 'default:hook%3Agithub%3A7:webhook';

async function send({ url }: Running, key = TOKEN): Promise<{ status: number; answer: unknown; replayed: string | null }> {
  const headers = { 'x-hub-signature-256': await sign(key, body), 'x-github-event': 'issues', 'x-github-delivery': '7' };
  const response = await fetch(`${url}/hooks/github`, { method: 'POST', headers, body });
  return { status: response.status, answer: await response.json(), replayed: response.headers.get('idempotency-replayed') };
}

/** Returns the texts of the delivery's session when the answer exists. */
async function conversation(product: Running): Promise<unknown[]> {
  for (;;) {
    const { result } = await sendRequest(product, 'session.history', { session_key: SESSION });
    const { messages = [] } = (result ?? {}) as { messages?: { role: string; content: string }[] };
    if (messages.some(({ role }) => role === 'assistant')) return messages.map(({ role, content }) => [role, content]);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('an acknowledged webhook is one turn, also after a crash and a repeated delivery', { timeout: 60_000 }, async () => {
  await using data = await tempDir();
  const options = { data: data.path, config, env: { HOOK_KEY: TOKEN } };
  const kept = { status: 200, answer: { received: true, mapping: 'github' }, replayed: null };
  {
    await using product = await startEmbedded(options);
    assert.deepEqual(await send(product, 'not the key'), { status: 401, answer: { error: 'Invalid webhook signature' }, replayed: null });
    assert.deepEqual(await send(product), kept);
    await product.process.end('SIGKILL');
  }
  await using product = await startEmbedded(options);
  const text = 'GitHub event issues in octo/repo: opened by octocat';
  const expected = [
    ['user', text],
    ['assistant', `I am dev/echo, the development model. You said: ${text}`],
  ];
  assert.deepEqual(await conversation(product), expected);
  assert.deepEqual(await send(product), { ...kept, replayed: 'true' });
  assert.deepEqual(await conversation(product), expected);
});

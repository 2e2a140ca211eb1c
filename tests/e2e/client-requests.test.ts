// Requests in the shapes that popular clients send, on the lenient path with a token that is not lenient.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { startEmbedded, type Running } from './embedded.ts';

interface ClientRequest {
  client: string;
  path: string;
  body: Record<string, unknown>;
  /** The expected `X-Switchyard-Warning`. */
  warning: string | null;
  /** The roles of the messages that the provider receives. */
  roles: string[];
}

const file = new URL('client-requests.json', import.meta.url);
const requests = JSON.parse(await readFile(file, 'utf8')) as ClientRequest[];

let upstream: Upstream;
let product: Running;
before(async () => {
  upstream = await startUpstream({ kind: 'text', text: 'It rains.' });
  const lab = { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'one' }] };
  product = await startEmbedded({ config: { providers: { entries: { lab } }, agents: { default: { provider: 'lab', model: 'one' } } } });
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

function post(base: string, { path, body }: ClientRequest): Promise<Response> {
  const headers = { authorization: `Bearer ${product.token}`, 'content-type': 'application/json' };
  return fetch(`${product.url}${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

for (const request of requests) {
  test(`${request.client}: /openai/v1 answers, and /v1 refuses the request`, async () => {
    const response = await post('/openai/v1', request);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.equal(response.headers.get('x-switchyard-warning'), request.warning);
    assert.match(text, request.body['stream'] === true ? /data: \[DONE\]\n\n$/ : /It rains\./);
    const messages = (upstream.requests.at(-1)?.body.messages ?? []) as { role: string }[];
    assert.deepEqual(
      messages.map(({ role }) => role),
      request.roles,
    );
    assert.equal((await post('/v1', request)).status, 400);
  });
}

test('Codex: a patch comes back as the call of a custom tool', async () => {
  const [first] = requests;
  upstream.respond({ kind: 'tools', calls: [{ name: 'apply_patch', arguments: { input: '*** Begin Patch' } }] });
  const response = await post('/openai/v1', first ?? assert.fail());
  const events = (await response.text()).split('\n\n').flatMap((event) => /^data: (\{.*)$/m.exec(event)?.[1] ?? []);
  const items = events
    .map((event) => JSON.parse(event) as { type: string; item?: { type: string; name?: string; input?: string } })
    .filter(({ type }) => type === 'response.output_item.done');
  assert.deepEqual(
    items.map(({ item }) => [item?.type, item?.name, item?.input]),
    [['custom_tool_call', 'apply_patch', '*** Begin Patch']],
  );
});

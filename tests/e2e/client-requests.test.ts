// Requests of popular clients on the lenient path, with a token that is not lenient. A request with `recorded` was sent by that package.
// Its long texts are cut, its ids, paths and most of its tools are replaced or left out. The other requests are written by hand.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { startEmbedded, type Running } from './embedded.ts';

interface ClientRequest {
  client: string;
  /** The package and version that sent the request. Absent if it is written by hand. */
  recorded?: string;
  path: string;
  body: Record<string, unknown>;
  /** Whether `/v1` answers the request as well. */
  isStrict?: true;
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
  test(`${request.client} (${request.recorded ?? 'by hand'}): /openai/v1 answers, and /v1 ${request.isStrict ? 'too' : 'refuses the request'}`, async () => {
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
    assert.equal((await post('/v1', request)).status, request.isStrict ? 200 : 400);
  });
}

test('/openai/v1/models lists the configured model for a client that selects one', async () => {
  const response = await fetch(`${product.url}/openai/v1/models`, { headers: { authorization: `Bearer ${product.token}`, accept: '*/*' } });
  const { object, data } = (await response.json()) as { object: string; data: { id: string; object: string }[] };
  assert.deepEqual([response.status, object, data.find(({ id }) => id === 'lab/one')?.object], [200, 'list', 'model']);
});

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

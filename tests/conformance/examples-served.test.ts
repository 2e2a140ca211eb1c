import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { publicMethods, unserved, type MethodName, type MethodSpec } from '@switchyard/contracts';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { startEmbedded, type Running } from '../e2e/embedded.ts';
import { call } from '../e2e/exchange.ts';

/** What the examples tell, in an order in which it can happen. */
const STORY: readonly MethodName[] = [
  'system.ping',
  'gateway.status',
  'models.list_providers',
  'models.list',
  'models.test',
  'agents.create',
  'agents.list',
  'agents.get',
  'agents.update',
  'agents.suspend',
  'agents.resume',
  'agents.delete',
  'agent.execute',
  'agent.stream',
  'session.send',
  'session.status',
  'session.history',
  'session.list',
  'session.export',
  'session.reset',
  'session.delete',
  'tokens.create',
  'tokens.list',
  'tokens.rotate',
  'tokens.revoke',
];

let upstream: Upstream;
let product: Running;

before(async () => {
  upstream = await startUpstream();
  // The examples speak of models of two providers; both are this one.
  const env = { OPENAI_API_KEY: 'sk-for-the-examples', OPENAI_BASE_URL: upstream.url, ANTHROPIC_API_KEY: 'sk-for-the-examples' };
  const entries = { anthropic: { type: 'openai-compatible', baseUrl: upstream.url } };
  product = await startEmbedded({ env, config: { providers: { entries } } });
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

test('the story tells of every method that is served', () => {
  assert.deepEqual([...STORY].sort(), [...publicMethods.keys()].filter((name) => !unserved.has(name as MethodName)).sort());
});

for (const method of STORY) {
  test(`${method} does what its examples say`, async () => {
    const { examples, result } = (publicMethods.get(method) ?? assert.fail(method)).spec as MethodSpec;
    for (const example of examples) {
      const answer = await call<unknown>(product, method, example.params);
      const { error } = result.safeParse(answer);
      assert.equal(error, undefined, `${method} answers ${JSON.stringify(answer)}`);
      assert.deepEqual(shapeOf(answer, example.result), shapeOf(example.result, answer), method);
    }
  });
}

/** The kinds of the fields that both have: where the example has text, so has the answer. */
function shapeOf(value: unknown, other: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return Array.isArray(value) ? 'array' : typeof value;
  const theirs = Object(other) as Record<string, unknown>;
  const shared = Object.entries(value).filter(([key]) => Object.hasOwn(theirs, key));
  return Object.fromEntries(shared.map(([key, field]) => [key, shapeOf(field, theirs[key])]));
}

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { publicMethods, unserved, type MethodName, type MethodSpec } from '@switchyard/contracts';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { startEmbedded, type Running } from '../e2e/embedded.ts';
import { call } from '../e2e/exchange.ts';

/** Methods that end something run last, and the restart of the process at the very end. */
const ENDS = [/\.(delete|deleteRun|remove|revoke|close|stop|disable|flush)$/i, /^gateway\.restart$/];
const served = [...publicMethods.keys()].filter((name) => !unserved.has(name as MethodName));

/** The examples in the order of declaration. A method is declared after the methods that create what its example uses. */
const STORY = served.toSorted((one, other) => endsAt(one) - endsAt(other));

function endsAt(name: string): number {
  return ENDS.findIndex((end) => end.test(name)) + 1;
}

/** Real ids by the ids of the examples. Later examples use the real id. */
const meant = new Map<string, string>();

let upstream: Upstream;
let product: Running;

before(async () => {
  upstream = await startUpstream();
  // The examples use models of two providers; this upstream serves both.
  const env = { OPENAI_API_KEY: 'sk-for-the-examples', OPENAI_BASE_URL: upstream.url, ANTHROPIC_API_KEY: 'sk-for-the-examples' };
  const entries = { anthropic: { type: 'openai-compatible', baseUrl: upstream.url } };
  product = await startEmbedded({ env, config: { providers: { entries } } });
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

/** Preparations that the examples of a method need beside the examples before it. */
const PREPARATIONS: Partial<Record<string, () => Promise<void>>> = { 'graph.cancel': startEndlessGraph };

/** Executes a graph whose only node waits for a model that does not answer. */
async function startEndlessGraph(): Promise<void> {
  upstream.respond({ kind: 'stall' }, { kind: 'text', text: 'Hello from upstream.' });
  const nodes = [{ node_id: 'endless', task: 'Wait.', model: 'openai/gpt-4o' }];
  const { graphId } = await call<{ graphId: string }>(product, 'graph.define', { nodes });
  // Its answer comes after the cancellation.
  void call(product, 'graph.execute', { graphId });
  const isRunning = async (): Promise<boolean> =>
    (await call<{ status: string }>(product, 'graph.status', { graphId })).status === 'running';
  while (!(await isRunning())) continue;
  meant.set('graph_4fT0mUq2Zs8KxY1bNcVdGh', graphId);
}

/** Methods whose examples cannot be prepared here, with the test that runs them. */
const TESTED_ELSEWHERE: ReadonlySet<string> = new Set([
  'admin.approval.resolve', // services/sessions/src/approvals
  'graph.resume', // services/graph/src
  ...[...publicMethods.values()].filter(({ service }) => service === 'media').map(({ name }) => name), // services/media/src/examples.test.ts
  'skills.import', // services/tools/src/import
  'obs.channels.get', // services/observability/src
  'obs.explain', // tests/observability
  'obs.fleet.health', // services/observability/src
  'obs.replay', // tests/observability
  'obs.bundle', // tests/observability
  // They name an agent and a running run. services/sessions/src/subagents
  'session.spawn',
  'subagent.kill',
  'subagent.steer',
]);

/** Chromium and the sites of its examples are missing here: services/browser/src. */
const isBrowserMethod = (name: string): boolean => name.startsWith('browser.');

for (const method of STORY.filter((name) => !TESTED_ELSEWHERE.has(name) && !isBrowserMethod(name))) {
  test(`${method} does what its examples say`, async () => {
    await PREPARATIONS[method]?.();
    const { examples, result } = (publicMethods.get(method) ?? assert.fail(method)).spec as MethodSpec;
    for (const example of examples) {
      const answer = await call<unknown>(product, method, translated(example.params));
      const { error } = result.safeParse(answer);
      assert.equal(error, undefined, `${method} answers ${JSON.stringify(answer)}`);
      assert.deepEqual(getShape(answer, example.result), getShape(example.result, answer), method);
      learn(example.result, answer);
    }
  });
}

/** Fields with ids and keys; other texts are literal. */
const ID = /^\S{12,}$/;

/** Records the real id of each example id. The order of a list does not matter. */
function learn(told: unknown, real: unknown): void {
  if (typeof told === 'string' && typeof real === 'string' && told !== real && ID.test(told)) meant.set(told, real);
  if (typeof told !== 'object' || told === null || Array.isArray(told)) return;
  for (const [key, part] of Object.entries(told)) learn(part, (Object(real) as Record<string, unknown>)[key]);
}

function translated(params: unknown): unknown {
  if (typeof params === 'string') return meant.get(params) ?? params;
  if (Array.isArray(params)) return params.map(translated);
  if (typeof params !== 'object' || params === null) return params;
  return Object.fromEntries(Object.entries(params).map(([key, part]) => [key, translated(part)]));
}

/** Compares the types of the fields that example and answer share. */
function getShape(value: unknown, other: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return Array.isArray(value) ? 'array' : typeof value;
  const theirs = Object(other) as Record<string, unknown>;
  const shared = Object.entries(value).filter(([key]) => Object.hasOwn(theirs, key));
  return Object.fromEntries(shared.map(([key, field]) => [key, getShape(field, theirs[key])]));
}

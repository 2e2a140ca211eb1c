import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig, ServiceError } from '@switchyard/contracts';
import type { ModelAnswer, ModelEnd, ModelRequest } from '@switchyard/models';
import type { ModelAccess } from '../agents/model-access.ts';
import { buildResumeState, type CheckpointEntry } from '../model/checkpoint-log.ts';
import { runAgentLoop } from './agent-loop.ts';
import type { ToolBox, ToolUse } from '../tools/toolbox.ts';
import type { TurnPlan } from './turn-plan.ts';
import type { FrameBody } from '../frames/frame-splitting.ts';

const usage = { input: 3, output: 2 };
const MODEL = { provider: 'first', modelId: 'm1' };
type Saying = { text?: string; calls?: readonly string[]; reason?: ModelAnswer['reason']; fails?: ServiceError };

/** A model that returns these responses in order, with the requests it received. */
function saying(...answers: Saying[]): ModelAccess & { requests: ModelRequest[] } {
  const requested: ModelRequest[] = [];
  return {
    requests: requested,
    async streamTo(request, sendMessage): Promise<ModelEnd> {
      const { text = '', calls = [], reason = calls.length > 0 ? 'tool-calls' : 'stop', fails } = answers[requested.length] ?? {};
      requested.push({ ...request, messages: [...request.messages] });
      if (text !== '') sendMessage(text, 'text');
      if (fails) throw fails;
      const createdItems = calls.map((name, n) => ({ callId: `${requested.length}-${n}`, name, input: {}, text: '{}' }));
      return { calls: createdItems, reason, usage, costUsd: 0.5 };
    },
    complete: () => assert.fail('it is read as it comes'),
  };
}

/** Tools whose names say whether they only read; each waits until the test lets it answer, where the test wants that. */
function toolsThat(use: (name: string, using: ToolUse) => Promise<unknown> = (name) => Promise.resolve(`${name} answered`)): ToolBox {
  return {
    specs: [],
    isReadOnly: (name) => name.startsWith('look'),
    isIdempotent: (name) => name.startsWith('look'),
    use: async ({ name }, using) => ({ result: await use(name, using), failed: false }),
  };
}

const plan = (rest: Partial<TurnPlan> = {}): TurnPlan => ({
  model: MODEL,
  messages: [{ role: 'user', text: 'hello' }],
  tools: toolsThat(),
  maxSteps: 10,
  maxTokens: 1_000,
  promptTimeoutMs: 1_000,
  signal: new AbortController().signal,
  ...rest,
});

async function play(models: ModelAccess, options: TurnPlan) {
  const frames: FrameBody[] = [];
  const running = runAgentLoop(models, { ...options, onText: (text) => void frames.push({ type: 'delta', text }) });
  for (;;) {
    const step = await running.next();
    if (step.done) return { ...step.value, frames };
    frames.push(step.value);
  }
}

const lastAsked = ({ requests }: { requests: ModelRequest[] }) => requests.at(-1)?.messages ?? [];

test('publishes held-back text once the answer has ended without a secret', async () => {
  const content = 'the key begins with sk-';
  const { frames, result } = await play(saying({ text: content }), plan());
  const sent = frames.flatMap((frame) => (frame.type === 'delta' ? [frame.text] : []));
  assert.ok(sent.length > 1, 'a part of it waited');
  assert.equal(sent.join(''), content);
  assert.equal(result.response, content);
});

test('runs consecutive read-only calls in parallel and others sequentially; results keep call order', async () => {
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const tools = toolsThat(async (name, { at }) => {
    order.push(`${name} begins`);
    if (name === 'look2') gate.resolve();
    if (name === 'look1') await gate.promise;
    order.push(`${name} ends`);
    return at;
  });
  const marks: CheckpointEntry[] = [];
  const models = saying({ calls: ['act', 'look1', 'look2', 'act2'] }, { text: 'done' });
  const { frames } = await play(models, plan({ tools, onCheckpoint: async (mark) => void marks.push(mark) }));
  assert.deepEqual(order, [
    'act begins',
    'act ends',
    'look1 begins',
    'look2 begins',
    'look2 ends',
    'look1 ends',
    'act2 begins',
    'act2 ends',
  ]);
  assert.deepEqual(
    marks.map((mark) => (mark.mark === 'result' ? [mark.callId, mark.result, mark.begins] : mark.mark)),
    ['said', ['1-0', 0, '1-1'], ['1-1', 1, '1-2'], ['1-2', 2, '1-3'], ['1-3', 3, undefined]],
  );
  assert.deepEqual(
    lastAsked(models).flatMap((message) => (message.role === 'tool' ? message.callId : [])),
    ['1-0', '1-1', '1-2', '1-3'],
  );
  const sent = frames.flatMap((frame) => (frame.type === 'tool' ? `${frame.name} ${frame.state}` : []));
  assert.deepEqual(sent.slice(2, 6), ['look1 called', 'look2 called', 'look1 succeeded', 'look2 succeeded']);
});

test('after a crash during read-only calls repeats only those without a result', async () => {
  const marks: CheckpointEntry[] = [];
  const died = new Error('died');
  const dying = plan({
    onCheckpoint: async (mark) => {
      marks.push(mark);
      if (mark.mark === 'result' && mark.callId === '1-1') throw died;
    },
  });
  await assert.rejects(play(saying({ calls: ['act', 'look1', 'look2', 'act2'] }), dying), died);
  const used: string[] = [];
  const tools = toolsThat(async (name, { step, at }) => void used.push(`${name} ${step}/${at}`));
  await play(saying({ text: 'done' }), plan({ tools, resumeFrom: buildResumeState(marks) }));
  assert.deepEqual(used, ['look2 1/2', 'act2 1/3']);
});

test('continues a truncated answer once with a higher limit and publishes no text twice', async () => {
  const models = saying({ text: 'half of ', reason: 'length' }, { text: 'it' });
  const { result, frames, spent } = await play(models, plan({ maxOutputTokens: 10, escalateTo: async () => 500 }));
  assert.deepEqual([result.finishReason, result.response, result.tokensUsed.total, spent.costUsd], ['stop', 'half of it', 10, 1]);
  assert.deepEqual(
    models.requests.map(({ maxTokens }) => maxTokens),
    [10, 500],
  );
  assert.deepEqual(lastAsked(models).slice(1, 2), [{ role: 'assistant', text: 'half of ' }]);
  assert.equal(frames.flatMap((frame) => (frame.type === 'delta' ? frame.text : [])).join(''), 'half of it');
});

test('starts a truncated empty answer again; a second truncation ends with output_starved', async () => {
  const models = saying({ reason: 'length' }, { text: 'still', reason: 'length' });
  const { result } = await play(models, plan({ escalateTo: async () => 500 }));
  assert.deepEqual([result.finishReason, result.response], ['output_starved', 'still']);
  assert.equal(lastAsked(models).length, 1);
});

test('keeps the truncated answer if no higher limit is available or the continuation fails', async () => {
  const away = new ServiceError('INVALID_ARGUMENT', 'too many tokens');
  for (const rest of [{}, { maxOutputTokens: 500, escalateTo: async () => 500 }, { escalateTo: async () => 500 }]) {
    const models = saying({ text: 'half', reason: 'length' }, { fails: away });
    const { result } = await play(models, plan(rest));
    assert.deepEqual([result.finishReason, result.response], ['output_starved', 'half']);
  }
});

test('fails if a continuation breaks off after text was published', async () => {
  const cut = new ServiceError('UNAVAILABLE', 'the stream broke off');
  const models = saying({ text: 'half of ', reason: 'length' }, { text: 'i', fails: cut });
  await assert.rejects(play(models, plan({ escalateTo: async () => 500 })), cut);
});

test('retries an empty reply after tool results, then requests an answer without tools; calls keep their keys', async () => {
  const keys: number[] = [];
  const marks: CheckpointEntry[] = [];
  const tools = toolsThat(async (_name, { step }) => void keys.push(step));
  const models = saying({ calls: ['act'] }, {}, { calls: ['act'] }, {}, { text: 'so it is' });
  const options = plan({ tools, silenceRetries: 2, onCheckpoint: async (mark) => void marks.push(mark) });
  const { result, steps } = await play(models, options);
  assert.deepEqual([result.finishReason, result.response, steps, keys], ['stop', 'so it is', 5, [1, 3]]);
  assert.equal(buildResumeState(marks).steps, 3, 'whoever takes over counts on from there');
  assert.deepEqual(
    buildResumeState(marks).spent,
    { input: 9, output: 6, cacheRead: 0, cacheWrite: 0, costUsd: 1.5 },
    'with what the silence cost',
  );
  assert.equal(models.requests[3]?.toolChoice, undefined);
  const last = saying({ calls: ['act'] }, {}, {}, {}, {}, { text: 'never asked' });
  assert.equal((await play(last, plan({ silenceRetries: 2 }))).result.response, '');
  const choices = last.requests.map(({ toolChoice }) => toolChoice);
  assert.deepEqual([choices.slice(0, 4), choices.slice(4)], [Array<undefined>(4).fill(undefined), ['none']]);
});

test('does not retry without tool use or if the agent disabled it; a failed retry keeps the empty reply', async () => {
  const cases: [Saying[], Partial<TurnPlan>, number][] = [
    [[{}], { silenceRetries: 2 }, 1],
    [[{ calls: ['act'] }, {}], {}, 2],
    [[{ calls: ['act'] }, {}, { fails: new ServiceError('UNAVAILABLE', 'away') }], { silenceRetries: 2 }, 3],
  ];
  for (const [answers, rest, requestCount] of cases) {
    const models = saying(...answers);
    const { result } = await play(models, plan(rest));
    assert.deepEqual([result.finishReason, result.response, models.requests.length], ['stop', '', requestCount]);
  }
});

test('ends a turn with context_loop after identical steps; a different step resets the count', async () => {
  const same: Saying = { calls: ['look'] };
  const circles = saying(same, same, same, same);
  assert.equal((await play(circles, plan({ maxRepeats: 3 }))).result.finishReason, 'context_loop');
  assert.equal(circles.requests.length, 3);
  const polling = saying(same, same, { ...same, text: 'hm' }, same, same, { text: 'done' });
  assert.equal((await play(polling, plan({ maxRepeats: 3 }))).result.finishReason, 'stop');
});

test('warns once when the window fills up, then ends the turn before the model call', async () => {
  const warnings: string[] = [];
  const guard = { window: 1_000, warnPercent: 80, blockPercent: 95 };
  const tools = toolsThat(async () => 'x'.repeat(1_700));
  const models = saying({ calls: ['a'] }, { calls: ['b'] }, { calls: ['c'] });
  const options = plan({ guard, tools, onWarning: (warning) => void warnings.push(warning) });
  const { result } = await play(models, options);
  assert.deepEqual([result.finishReason, models.requests.length], ['context_exhausted', 3]);
  assert.deepEqual(warnings, ['The context window is 86 % full.']);
  const tooLong = saying();
  const request = await play(tooLong, plan({ guard, messages: [{ role: 'user', text: 'x'.repeat(3_801) }] }));
  assert.deepEqual([request.result.finishReason, tooLong.requests.length], ['context_exhausted', 0]);
});

test('shortens old tool results in the prompt and keeps them complete in checkpoints', async () => {
  const long = 'x'.repeat(9_000);
  const marks: CheckpointEntry[] = [];
  const models = saying({ calls: ['look'] }, { calls: ['look'] }, { text: 'done' });
  const pruning = { config: AgentConfig.parse({ preserveRecent: 0, session: { pruning: { preserveRecentCount: 2 } } }), window: undefined };
  const noting = async (mark: CheckpointEntry): Promise<void> => void marks.push(mark);
  await play(models, plan({ tools: toolsThat(() => Promise.resolve(long)), pruning, onCheckpoint: noting }));
  const sent = models.requests.map(({ messages }) => messages.flatMap((one) => (one.role === 'tool' ? String(one.result).length : [])));
  assert.deepEqual(sent, [[], [9_000], [1_038, 9_000]]);
  assert.deepEqual(
    marks.flatMap((mark) => (mark.mark === 'result' ? String(mark.result).length : [])),
    [9_000, 9_000],
  );
});

test('a secret that spans a truncated answer and its continuation is not published', async () => {
  const key = `ghp_${'a1B2'.repeat(9)}`;
  const models = saying({ text: `it is ${key.slice(0, 9)}`, reason: 'length' }, { text: `${key.slice(9)}, so` });
  const { result, frames } = await play(models, plan({ maxOutputTokens: 10, escalateTo: async () => 500 }));
  assert.equal(result.response, 'it is [REDACTED:github_token], so');
  assert.equal(frames.flatMap((frame) => (frame.type === 'delta' ? frame.text : [])).join(''), result.response);
});

test('runs at most eight calls in parallel', async () => {
  let [now, max] = [0, 0];
  const tools = toolsThat(async () => {
    max = Math.max(max, (now += 1));
    await new Promise(setImmediate);
    now -= 1;
  });
  await play(saying({ calls: Array.from({ length: 9 }, () => 'look') }, { text: 'done' }), plan({ tools }));
  assert.equal(max, 8);
});

test('does not continue a JSON answer, or one whose model has no higher limit', async () => {
  const cut = { text: '{"half":', reason: 'length' as const };
  for (const rest of [{ format: { name: 'half' }, maxOutputTokens: 10 }, { maxOutputTokens: 500 }]) {
    const models = saying(cut, { text: 'never' });
    const { result } = await play(models, plan({ ...rest, escalateTo: async () => 500 }));
    assert.deepEqual([result.finishReason, result.response, models.requests.length], ['output_starved', '{"half":', 1]);
  }
});

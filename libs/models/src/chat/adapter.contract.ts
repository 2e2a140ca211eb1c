import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Adapter, Ending } from '../model/adapter.ts';
import { beginStep, completeStep, isEnd, type Step } from '../calls/model-step.ts';
import { toParts, request } from '../models.fixture.ts';
import type { ModelPart } from '../index.ts';
import { startPlayer } from './replay-server.fixture.ts';
import type { Recording } from './recordings.ts';

export interface AdapterUnderTest {
  /** Creates an adapter for an address. */
  open: (url: string) => Promise<Adapter>;
  /** Whether a non-streaming response is requested. */
  whole: boolean;
  recordings: readonly Recording[];
}

/** Tests that an adapter reads all recordings. */
export function adapterContract(name: string, { open, whole, recordings }: AdapterUnderTest): void {
  describe(`recorded conversations, ${name}`, () => {
    for (const recording of recordings) {
      test(recording.name, async () => {
        await using player = await startPlayer(recording);
        const { parts, ending } = await read(await open(player.url), whole);
        const { text, reasoning = '', calls = [], reason, usage, costUsd = 0 } = recording.read;
        assert.equal(joined(parts, 'text'), text);
        assert.equal(joined(parts, 'reasoning'), reasoning);
        assert.deepEqual(
          parts
            .flatMap((part) => (part.type === 'tool-call' ? [withoutInput(part.call)] : []))
            .map((call, at) => ({
              ...call,
              callId: calls[at]?.callId === '*' && call.callId !== '' ? '*' : call.callId,
            })),
          calls,
        );
        const finish = parts.at(-1);
        assert.ok(finish?.type === 'finish');
        assert.equal(finish.reason, reason);
        assert.equal(finish.costUsd, costUsd);
        if (usage === undefined) assert.deepEqual([ending?.usage.input, ending?.usage.output], [undefined, undefined]);
        else assert.deepEqual(finish.usage, usage);
      });
    }
  });
}

async function read(adapter: Adapter, isComplete: boolean): Promise<{ parts: ModelPart[]; ending: Ending | undefined }> {
  const asked = request();
  const attempt = { request: asked, nonStreaming: isComplete, signal: asked.signal, number: 1, onAlive: () => undefined };
  let ending: Ending | undefined;
  const overheard: Adapter = {
    async *stream(options) {
      ending = yield* adapter.stream(options);
      return ending;
    },
    async complete(given) {
      const message = await adapter.complete(given);
      ({ ending } = message);
      return message;
    },
  };
  const step = { provider: 'up', adapter: overheard, attempt, cost: undefined };
  const parts = isComplete ? toParts(await completeStep(step)) : await streamed(step);
  return { parts, ending };
}

/** Collects all parts of a step. */
async function streamed(step: Step): Promise<ModelPart[]> {
  const begun = await beginStep(step);
  const parts: ModelPart[] = [];
  try {
    let said = begun.first;
    for (; !isEnd(said); said = await begun.next()) parts.push(said);
    return [...parts, ...said];
  } finally {
    await begun.leave();
  }
}

function joined(parts: readonly ModelPart[], type: 'text' | 'reasoning'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('');
}

function withoutInput({ callId, name, text }: { callId: string; name: string; text: string }) {
  return { callId, name, text };
}

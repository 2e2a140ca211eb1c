import type { ModelMessage, ModelUsage, ProviderFields, ToolCall } from '@switchyard/models';
import { addSkillLimit, type SkillLimit } from './skill-limits.ts';
import { storeText, loadText, type Bodies } from './stored-text.ts';

/** One checkpoint of a turn. All checkpoints together are enough to resume it. */
export type CheckpointEntry =
  /** A model step that calls tools, with the id of the call that is started first. */
  | {
      mark: 'said';
      step?: number;
      text: string;
      calls: readonly ToolCall[];
      /** Fields that the provider expects back with the results. */
      providerFields?: ProviderFields;
      input: number;
      output: number;
      /** Tokens read from the provider's cache. */
      cacheRead?: number;
      cacheWrite?: number;
      costUsd: number;
      /** The model that was called, as provider/model. */
      model?: string;
      begins?: string;
    }
  /**
   * A tool result, the id and length of the full text if it was truncated for the model, whether it may contain text from outside, the
   * tools that a skill leaves to the rest of the turn, and the id of the call that is started next.
   */
  | {
      mark: 'result';
      callId: string;
      result: unknown;
      failed: boolean;
      error?: ToolError;
      whole?: string;
      wholeChars?: number | undefined;
      untrusted?: true;
      allowedTools?: SkillLimit;
      begins?: string;
    }
  /** The next call waits for this request for approval. */
  | { mark: 'parked'; callId: string; requestId: string; until: number }
  /** The next call is started, after it was approved. */
  | { mark: 'begun'; callId: string }
  /** The number of further messages that the turn has merged (`TurnDocument.merged`). */
  | { mark: 'heard'; count: number }
  /** The skill that the user invoked with the message of the turn. */
  | ({ mark: 'skill' } & InvokedSkill);

/** A skill that a user invoked: its instructions for the model, and the tools that it leaves to the turn. */
export interface InvokedSkill {
  name: string;
  instructions: string;
  allowedTools?: SkillLimit;
}

/** Why a tool call failed: the code of its error, and the reason if there is one. */
export interface ToolError {
  code: string;
  reason?: string;
}

/** Maximum characters of a checkpoint stored inline. Longer ones get a document of their own. */
const MAX_INLINE_CHARS = 512;

/** A checkpoint as a turn holds it: itself, or the digest of its text with the characters that it stores. */
interface StoredCheckpoint {
  body?: unknown;
  chars?: number;
  wholeChars?: number;
}

/** Characters that the checkpoints of a turn store, with the full texts of tool results. */
export function countCheckpointChars(steps: readonly unknown[]): number {
  return steps.reduce<number>((sum, step) => {
    const { body, chars = 0, wholeChars = 0 } = step as StoredCheckpoint;
    return sum + (body === undefined ? JSON.stringify(step).length + wholeChars : chars);
  }, 0);
}

/** Stores a checkpoint: itself, or the digest of its text. */
export async function storeCheckpoint(bodies: Bodies, turnId: string, mark: CheckpointEntry): Promise<unknown> {
  const text = JSON.stringify(mark);
  if (text.length <= MAX_INLINE_CHARS) return mark;
  const { body, chars } = await storeText(bodies, turnId, text, MAX_INLINE_CHARS);
  // Told apart from the steps of the model, after which a failed turn is not retried.
  if (mark.mark === 'skill') return { mark: mark.mark, body, chars };
  return { body, chars: chars + (mark.mark === 'result' ? (mark.wholeChars ?? 0) : 0) };
}

export async function loadCheckpoints(bodies: Bodies, turnId: string, keptItems: readonly unknown[]): Promise<CheckpointEntry[]> {
  return Promise.all(
    keptItems.map(async (one) => {
      const body = (one as { body?: unknown }).body;
      if (typeof body !== 'string') return one as CheckpointEntry;
      return JSON.parse(await loadText(bodies, turnId, { chars: 0, body })) as CheckpointEntry;
    }),
  );
}

/** Token usage of model steps. Input tokens include cached tokens. */
export interface TurnUsage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  costUsd: number;
}

export function zeroUsage(): TurnUsage {
  return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 };
}

export function addUsage(
  sum: TurnUsage,
  { input, output, cacheRead = 0, cacheWrite = 0, costUsd }: ModelUsage & { costUsd: number },
): void {
  sum.input += input;
  sum.output += output;
  sum.cacheRead += cacheRead;
  sum.cacheWrite += cacheWrite;
  sum.costUsd += costUsd;
}

/** State of a turn after its checkpoints. */
export interface ResumeState {
  steps: number;
  messages: ModelMessage[];
  /** Output of all steps, and of the last step with output. */
  text: string;
  response: string;
  spent: TurnUsage;
  /** The same by model, with the number of calls. */
  spentByModel: Map<string, TurnUsage & { calls: number }>;
  /** Number of calls of the last step. */
  callCount: number;
  /** A tool result was stored of which the model has read only the beginning. */
  hasStoredResults: boolean;
  /** A tool result may contain text from outside. */
  hasUntrustedResults: boolean;
  /** The skill that the user invoked, once its instructions are recorded. */
  skill: InvokedSkill | undefined;
  /** Lists of tools of the skills that the turn has used. */
  skillLimits: readonly SkillLimit[];
  /** Calls without a result, in order, and the id of the call that was started. */
  pendingCalls: ToolCall[];
  startedCallId: string | undefined;
  /** Request for approval that the first of these calls waits for. */
  requestId: string | undefined;
}

/** Builds the resume state. `mergedTexts` holds the texts of the merged messages. */
export function buildResumeState(marks: readonly CheckpointEntry[], mergedTexts: readonly string[] = []): ResumeState {
  let next = 0;
  const standing: ResumeState = {
    steps: 0,
    messages: [],
    text: '',
    response: '',
    spent: zeroUsage(),
    spentByModel: new Map(),
    callCount: 0,
    hasStoredResults: false,
    hasUntrustedResults: false,
    skill: undefined,
    skillLimits: [],
    pendingCalls: [],
    startedCallId: undefined,
    requestId: undefined,
  };
  for (const mark of marks) {
    if (mark.mark === 'heard') {
      for (const text of mergedTexts.slice(next, (next += mark.count))) standing.messages.push({ role: 'user', text });
      continue;
    }
    if (mark.mark === 'skill') {
      const { mark: _mark, ...skill } = mark;
      standing.skill = skill;
      standing.skillLimits = addSkillLimit(standing.skillLimits, skill.allowedTools);
      continue;
    }
    standing.requestId = mark.mark === 'parked' ? mark.requestId : undefined;
    if (mark.mark === 'parked' || mark.mark === 'begun') {
      standing.startedCallId = mark.mark === 'begun' ? mark.callId : undefined;
      continue;
    }
    standing.startedCallId = mark.begins;
    if (mark.mark === 'said') addStep(standing, mark);
    else addResult(standing, mark);
  }
  return standing;
}

function addStep(standing: ResumeState, mark: Extract<CheckpointEntry, { mark: 'said' }>): void {
  const { step = standing.steps + 1, text, calls, providerFields, model } = mark;
  if (model !== undefined) {
    const spent = standing.spentByModel.get(model) ?? { ...zeroUsage(), calls: 0 };
    spent.calls += step - standing.steps;
    addUsage(spent, mark);
    standing.spentByModel.set(model, spent);
  }
  standing.steps = step;
  standing.text += text;
  standing.response = text === '' ? standing.response : text;
  addUsage(standing.spent, mark);
  standing.callCount = calls.length;
  standing.pendingCalls = [...calls];
  standing.messages.push({ role: 'assistant', text, toolCalls: calls, ...(providerFields === undefined ? {} : { providerFields }) });
}

function addResult(
  standing: ResumeState,
  { callId, result, failed, whole, untrusted, allowedTools }: Extract<CheckpointEntry, { mark: 'result' }>,
): void {
  standing.hasStoredResults ||= whole !== undefined;
  standing.hasUntrustedResults ||= untrusted === true;
  standing.skillLimits = addSkillLimit(standing.skillLimits, allowedTools);
  // Results are matched by position, because a model may repeat call ids.
  const call = standing.pendingCalls.shift();
  standing.messages.push({ role: 'tool', callId, name: call?.name ?? '', result, failed });
}

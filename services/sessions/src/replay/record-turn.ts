import { RECORDING_SCHEMA, type TurnRecording } from '@switchyard/contracts';
import type { ToolSpec } from '@switchyard/models';
import { scrubTexts } from '@switchyard/telemetry';
import { createHash } from 'node:crypto';
import { loadCheckpoints, type CheckpointEntry } from '../model/checkpoint-log.ts';
import { loadText, type Bodies } from '../model/stored-text.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { limitTools, type SkillLimit } from '../model/skill-limits.ts';

const DIGEST_CHARS = 12;

type RecordedStep = TurnRecording['steps'][number];

/** What the agent of the turn is offered now. */
export interface RecordedOffer {
  system: string | undefined;
  specs: readonly ToolSpec[];
}

/** Loads an ended turn with its model answers and tool results. Secrets are redacted, because recordings are kept as files. */
export async function recordTurn(bodies: Bodies, turn: TurnDocument, { system, specs }: RecordedOffer): Promise<TurnRecording> {
  const { turnId, sessionKey, agentId, client, model, createdAt, scopes, tools, answer, finishReason, tokensUsed, failure } = turn;
  const [message, marks, response] = await Promise.all([
    loadText(bodies, turnId, turn.message),
    loadCheckpoints(bodies, turnId, turn.steps),
    answer && loadText(bodies, turnId, answer),
  ]);
  const narrowing = limitTools(tools, listInvokedLimits(marks));
  return scrubTexts({
    schema: RECORDING_SCHEMA,
    schemaVersion: 1 as const,
    turnId,
    sessionKey,
    agentId,
    client,
    ...(model === undefined ? {} : { model }),
    createdAt,
    scopes: scopes as TurnRecording['scopes'],
    ...(narrowing === undefined ? {} : { narrowing }),
    hasHistoryTools: hadHistoryTools(turn),
    message,
    ...(system === undefined ? {} : { system }),
    tools: listTools(specs),
    steps: listSteps(marks),
    ...(response === undefined ? {} : { answer: response }),
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(tokensUsed === undefined ? {} : { tokensUsed: { input: tokensUsed.input, output: tokensUsed.output } }),
    ...(failure === undefined ? {} : { failure }),
  });
}

/** Lists tools by name, with a digest of what the model reads of them. */
export function listTools(specs: readonly ToolSpec[]): TurnRecording['tools'] {
  return specs.map(({ name, description, parameters }) => {
    const digest = createHash('sha256')
      .update(JSON.stringify([description, parameters]))
      .digest('hex')
      .slice(0, DIGEST_CHARS);
    return { name, digest };
  });
}

/** The trace of the turn contains how much of the conversation its prompt lacked. */
function hadHistoryTools({ trace }: TurnDocument): boolean {
  const { told } = trace === undefined ? {} : (JSON.parse(trace) as { told?: { leftOut: number; folded: number } });
  return told !== undefined && told.leftOut + told.folded > 0;
}

/**
 * Limits of the skill that the user invoked, which the turn had from its first model call. Those of skills that the model used later are no
 * part of the first offer: a recording has the results of the calls that they refused.
 */
function listInvokedLimits(marks: readonly CheckpointEntry[]): readonly SkillLimit[] {
  return marks.flatMap((mark) => (mark.mark === 'skill' && mark.allowedTools ? [mark.allowedTools] : []));
}

function listSteps(marks: readonly CheckpointEntry[]): RecordedStep[] {
  const steps: RecordedStep[] = [];
  for (const mark of marks) {
    if (mark.mark === 'said') {
      const { text, calls, input, output, costUsd } = mark;
      steps.push({ text, calls: calls.map(({ name, input: params }) => ({ name, input: params })), results: [], input, output, costUsd });
    } else if (mark.mark === 'result') steps.at(-1)?.results.push({ result: mark.result, failed: mark.failed });
  }
  return steps;
}

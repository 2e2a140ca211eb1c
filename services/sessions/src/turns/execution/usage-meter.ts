import type { ModelTurnUsage, TurnUsage } from '@switchyard/contracts';
import type { ModelRef, ModelUsage } from '@switchyard/models';
import type { FrameBody } from '../../frames/frame-splitting.ts';
import { addUsage, zeroUsage, type ResumeState } from '../../model/checkpoint-log.ts';
import type { TurnDocument } from '../../model/turn-document.ts';

/** A model call whose provider reported its usage. */
export interface MeteredCall {
  usage: ModelUsage;
  costUsd: number;
  /** The model that answered, if another one than the requested model may have. */
  model?: ModelRef;
}

/** Adds up the model calls of a turn, over all its attempts. */
export interface UsageMeter {
  /** Counts a call of a model; undefined if the provider reported no usage. */
  record: (requested: ModelRef, call: MeteredCall | undefined) => void;
  /** Follows the steps of the turn. */
  recordFrame(frame: FrameBody): void;
  /** Model steps that were begun. */
  readonly steps: number;
  read: () => TurnUsage;
}

/** Continues the count of earlier attempts. */
export function createUsageMeter(turn: Pick<TurnDocument, 'attempts'>, resumeFrom: ResumeState): UsageMeter {
  const usage = getEarlierUsage(turn, resumeFrom);
  const byModel = getEarlierModels(resumeFrom);
  let { steps } = resumeFrom;
  return {
    record(requested, call) {
      for (const sum of [usage, getModel(byModel, call?.model ?? requested)]) {
        sum.calls += 1;
        if (call === undefined) sum.unknownCalls += 1;
        else addUsage(sum, { ...call.usage, costUsd: call.costUsd });
      }
    },
    recordFrame(frame) {
      if (frame.type === 'step') steps = frame.step;
    },
    get steps() {
      return steps;
    },
    read: () => ({ ...usage, ...(byModel.size === 0 ? {} : { models: [...byModel.values()].map((one) => ({ ...one })) }) }),
  };
}

/**
 * Returns the usage up to the last checkpoint. Each attempt that was lost while no tool was running counts as one call of unknown
 * usage, because the process had asked the model and did not store its answer.
 */
function getEarlierUsage({ attempts }: Pick<TurnDocument, 'attempts'>, { spent, steps, pendingCalls }: ResumeState): TurnUsage {
  const lostDuringTools = pendingCalls.length === 0 ? 0 : 1;
  const unknownCalls = Math.max(0, attempts - 1 - lostDuringTools);
  return { ...spent, calls: steps + unknownCalls, unknownCalls };
}

function getModel(byModel: Map<string, ModelTurnUsage>, { provider, modelId }: ModelRef): ModelTurnUsage {
  const model = `${provider}/${modelId}`;
  let usage = byModel.get(model);
  if (usage === undefined) byModel.set(model, (usage = { model, ...zeroUsage(), calls: 0, unknownCalls: 0 }));
  return usage;
}

function getEarlierModels({ spentByModel }: ResumeState): Map<string, ModelTurnUsage> {
  return new Map(Array.from(spentByModel, ([model, usage]) => [model, { model, ...usage, unknownCalls: 0 }]));
}

/** Returns the usage of a turn that another process runs, up to its last checkpoint. Its open call counts as unknown. */
export function getRunningUsage({ state }: Pick<TurnDocument, 'state'>, progress: ResumeState): TurnUsage {
  const models = [...getEarlierModels(progress).values()];
  return { ...getEarlierUsage({ attempts: state === 'running' ? 2 : 0 }, progress), ...(models.length === 0 ? {} : { models }) };
}

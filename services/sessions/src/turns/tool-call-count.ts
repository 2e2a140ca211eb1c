import { MAX, type TurnToolCounts } from '@switchyard/contracts';
import type { CheckpointEntry } from '../model/checkpoint-log.ts';

/** Counts the tool calls of a turn, over all its runs. A call without a result, such as one of a cancelled turn, counts as no failure. */
export function countToolCalls(checkpoints: readonly CheckpointEntry[]): TurnToolCounts {
  const failed = new Set<string>();
  let [calls, names]: [number, string[]] = [0, []];
  for (const entry of checkpoints) {
    if (entry.mark === 'said') {
      calls += entry.calls.length;
      names = entry.calls.map(({ name }) => name);
    } else if (entry.mark === 'result') {
      // Results arrive in the order of the calls, because a model may repeat call ids.
      const name = names.shift();
      if (entry.failed && name !== undefined) failed.add(name);
    }
  }
  return { calls, failed: [...failed].slice(0, MAX.few) };
}

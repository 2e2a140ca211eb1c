import type { ModelSum } from '../documents/collections.ts';

/** Returns a sum of nothing for a model. */
export function emptySum(model: string): ModelSum {
  return {
    model,
    calls: 0,
    unknownCalls: 0,
    unpricedCalls: 0,
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    costPico: '0',
    savedPico: '0',
  };
}

/** Adds one sum to another in place. */
export function addSum(target: ModelSum, added: ModelSum): void {
  target.calls += added.calls;
  target.unknownCalls += added.unknownCalls;
  target.unpricedCalls += added.unpricedCalls;
  target.input += added.input;
  target.output += added.output;
  target.cacheRead += added.cacheRead;
  target.cacheWrite += added.cacheWrite;
  target.costPico = String(BigInt(target.costPico) + BigInt(added.costPico));
  target.savedPico = String(BigInt(target.savedPico) + BigInt(added.savedPico));
}

export function addAll(sums: Iterable<ModelSum>): ModelSum {
  const total = emptySum('');
  for (const sum of sums) addSum(total, sum);
  return total;
}

/** Adds up sums with an equal key. */
export function groupSums<T extends ModelSum>(sums: Iterable<T>, getKey: (sum: T) => string): Map<string, T> {
  const groups = new Map<string, T>();
  for (const sum of sums) {
    const key = getKey(sum);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ...sum });
    else addSum(group, sum);
  }
  return groups;
}

import { publicMethods } from '@switchyard/contracts';
import type { Known, Violation } from './known.ts';

/** I6: a tool that may not be used twice was used once, whoever ran its turn. The workload gives every call another input. */
export function toolsOnce({ notes }: Known): Violation[] {
  const calls = notes.filter(({ what, id }) => what === 'call' && publicMethods.get(id)?.spec.idempotent !== true);
  return [...Map.groupBy(calls, ({ id, input }) => `${id} ${JSON.stringify(input)}`)]
    .filter(([, made]) => made.length > 1)
    .map(([call, made]) => ({
      invariant: 'I6',
      what: `${call} was called ${made.length} times, by ${made.map(({ replica }) => replica).join(', ')}`,
    }));
}

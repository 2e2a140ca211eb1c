import { counter, type Counter } from '@switchyard/telemetry';

/** Counts a call by its outcome: `OK` or an error code. */
export type CountCall = (code: string) => void;

/** The label of unknown methods, whose names are arbitrary. */
const OTHER = 'other';

export function createCallCounter(method: string): CountCall {
  const byCode = new Map<string, Counter>();
  return (code) => {
    let known = byCode.get(code);
    if (known === undefined) byCode.set(code, (known = counter('switchyard.edge.calls', { method, code })));
    known.add();
  };
}

export const countUnknownMethod: CountCall = createCallCounter(OTHER);

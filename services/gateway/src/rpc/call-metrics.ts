import { counter, type Counter } from '@switchyard/telemetry';

/** Counts a call by how it ended: `OK`, or the code of its error. */
export type CountCall = (code: string) => void;

/** As what names are counted that are no method: clients choose them. */
const OTHER = 'other';

export function countCallsOf(method: string): CountCall {
  const byCode = new Map<string, Counter>();
  return (code) => {
    let known = byCode.get(code);
    if (known === undefined) byCode.set(code, (known = counter('switchyard.edge.calls', { method, code })));
    known.add();
  };
}

export const countOther: CountCall = countCallsOf(OTHER);

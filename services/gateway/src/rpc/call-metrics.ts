import { counter, type Counter } from '@switchyard/telemetry';

/** Counts a call by its outcome: `OK` or an error code. */
export type CountCall = (code: string) => void;

/** The label of unknown methods, whose names are arbitrary. */
const UNKNOWN_METHOD = 'other';

export function createCallCounter(method: string): CountCall {
  const byCode = new Map<string, Counter>();
  return (code) => {
    let metric = byCode.get(code);
    if (metric === undefined) byCode.set(code, (metric = counter('switchyard.edge.calls', { method, code })));
    metric.add();
  };
}

export const countUnknownMethod: CountCall = createCallCounter(UNKNOWN_METHOD);

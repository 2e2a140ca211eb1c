import { readConfig } from './node-config.ts';
import type { NodeDriver } from './node-driver.ts';

const MINUTE_MS = 60_000;

/** Waits for the decision of a person. The decision is the end of its only step. */
export const approvalGateNode: NodeDriver = {
  next(node, ends) {
    const [end] = ends;
    const { message = node.task, timeout_minutes: minutes } = readConfig(node, 'approval-gate');
    if (!end) return { kind: 'ask', message, timeoutMs: minutes * MINUTE_MS };
    if (end.error !== undefined) return { kind: 'fail', error: end.error, ...(end.permanent === true && { permanent: true }) };
    return { kind: 'complete', output: end.text };
  },
  getPartialOutput: () => '',
};

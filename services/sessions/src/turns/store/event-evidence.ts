import type { StepEvidence, TurnEvidence } from '@switchyard/contracts';

/** Characters of evidence in an event. The event is stored in the turn document until it is published, and one message carries it. */
const MAX_EVENT_CHARS = 16_384;

/**
 * Returns the evidence of a turn for its event. Evidence above the limit loses the tool calls that succeeded, then its middle steps, which
 * it counts: the beginning and the end of a turn explain its failure most often.
 */
export function readEvidence(trace: string): TurnEvidence {
  const evidence = JSON.parse(trace) as TurnEvidence;
  if (trace.length <= MAX_EVENT_CHARS) return evidence;
  const steps = evidence.steps.map(withoutSuccesses);
  let { dropped = 0 } = evidence;
  let size = JSON.stringify({ ...evidence, steps }).length;
  while (size > MAX_EVENT_CHARS && steps.length > 1) {
    const [removed] = steps.splice(Math.floor(steps.length / 2), 1);
    size -= JSON.stringify(removed).length + 1;
    dropped += 1;
  }
  return { ...evidence, steps, ...(dropped > 0 ? { dropped } : {}) };
}

function withoutSuccesses({ tools, ...step }: StepEvidence): StepEvidence {
  if (tools === undefined) return step;
  const failed = tools.filter((tool) => tool.failed !== false);
  const moreTools = (step.moreTools ?? 0) + tools.length - failed.length;
  return { ...step, ...(failed.length === 0 ? {} : { tools: failed }), ...(moreTools === 0 ? {} : { moreTools }) };
}

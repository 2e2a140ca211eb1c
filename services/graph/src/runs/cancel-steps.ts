import type { Bus } from '@switchyard/bus';
import type { Work } from '@switchyard/work';
import type { StepDocument } from '../documents/collections.ts';
import { cancelOrder, closed } from './step-work.ts';

export interface CancelStepsDeps {
  stepWork: () => Work<StepDocument>;
  bus: Bus;
  now: () => number;
}

/** Ends steps whose attempt is over, and their turns. Repeating it has no further effect. */
export async function cancelSteps({ stepWork, bus, now }: CancelStepsDeps, tenant: string, steps: readonly StepDocument[]): Promise<void> {
  for (const step of steps) {
    const cancelled = await stepWork().cancel(tenant, step.stepId, { ...closed(now()), error: 'the attempt was stopped' });
    // The turn may have been ordered since the step was read.
    await cancelOrder(bus, tenant, cancelled ?? step);
  }
}

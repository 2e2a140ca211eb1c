import type { Bus } from '@switchyard/bus';
import { ServiceError, type JobDelivery } from '@switchyard/contracts';
import type { RunDocument } from '../documents/collections.ts';

const REASON_CHARS = 2_048;

/**
 * Queues the text of a run at the channels service, once per run, and returns what became of it. Throws while that service is installed
 * but does not answer.
 */
export async function deliverResult(
  bus: Bus,
  { agentId, runId }: Pick<RunDocument, 'agentId' | 'runId'>,
  { deliverTo, text }: { deliverTo: JobDelivery; text: string },
): Promise<string> {
  const { channelType, channelId } = deliverTo;
  if (text === '') return 'empty';
  try {
    const { suppressed } = await bus.call('deliver.send', {
      agentId,
      target: { channelType, channelId },
      text,
      idempotencyKey: runId,
    });
    return suppressed ?? 'delivered';
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === 'UNAVAILABLE' && error.details.reason === 'NO_RESPONDERS') return 'not installed';
    if (error.retryable) throw error;
    return error.message.slice(0, REASON_CHARS);
  }
}

import type { Bus } from '@switchyard/bus';
import type { Sections } from '@switchyard/contracts';
import type { Work } from '@switchyard/work';
import { newExtraction } from './extraction-work.ts';
import type { ExtractionDocument } from './task-document.ts';

export interface TurnFollowDeps {
  bus: Pick<Bus, 'on'>;
  extractionWork: Pick<Work<ExtractionDocument>, 'add' | 'startDue'>;
  settings: () => Sections['scheduler']['tasks'];
  now: () => number;
  log: { warn(fields: object, message: string): void };
}

/**
 * Starts an extraction for each conversation turn with an answer while `scheduler.tasks.enabled` is on. Turns of jobs, heartbeats and other
 * services have none. An event that is lost costs the tasks of its turn only.
 */
export function followTurns({ bus, extractionWork, settings, now, log }: TurnFollowDeps): Disposable {
  const onFailure = (err: unknown): void =>
    log.warn({ err, errorKind: 'dependency', hint: 'the tasks of this turn are not extracted' }, 'failed to start a task extraction');
  const subscription = bus.on(
    'turn:ended',
    ({ payload, tenant }) => {
      const { turnId: sourceTurnId, sessionKey, agentId, state, kind, mergedInto } = payload;
      const isConversation = kind === undefined || kind === 'channel';
      if (!settings().enabled || !isConversation || state !== 'done' || mergedInto !== undefined) return;
      extractionWork
        .add({ tenant }, newExtraction({ sourceTurnId, sessionKey, agentId }, now()))
        .then(() => extractionWork.startDue())
        .catch(onFailure);
    },
    { queue: 'scheduler' },
  );
  return { [Symbol.dispose]: () => subscription.unsubscribe() };
}

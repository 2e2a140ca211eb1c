import type { ModelMessage } from '@switchyard/models';
import type { MergedMessage } from '../../model/turn-document.ts';
import type { Bodies } from '../../model/stored-text.ts';
import { captureAll, type CapturedTurn } from '../../memory/captured-turn.ts';
import type { TurnTracer } from '../../agent-loop/turn-trace.ts';
import type { TurnTaint } from '../../screening/untrusted-results.ts';
import { foreignNote } from '../../screening/untrusted-message.ts';
import type { TurnOutcome } from '../../agent-loop/turn-plan.ts';
import type { MemoryRecall } from '../../memory/memory-recall.ts';
import { loadMergedMessages } from '../../model/merged-messages.ts';
import type { TurnRun } from './turn-run.ts';
import { verbosityNote } from '../../agent-loop/verbosity.ts';

/** Loads memories into the prompt of a turn, and collects what the memory service should store of it. */
export interface MemoryInjection {
  /** Marks the turn as tainted if a memory comes from outside. */
  loadMemory: (question: string, taint: Pick<TurnTaint, 'mark'>) => Promise<ModelMessage | undefined>;
  /** Warnings for the owner, for example about missing memory. */
  readonly warnings: readonly string[];
  warn: (warning: string) => void;
  /** Adds the messages that the turn has merged. */
  addMerged: (others: readonly MergedMessage[]) => void;
  /** Returns what the agent is configured to store of the turn and of the merged messages. */
  collectCaptured: (outcome: Pick<TurnOutcome, 'result' | 'steps'>, bodies: Bodies) => Promise<CapturedTurn[]> | CapturedTurn[];
}

interface MemoryInjectionOptions {
  witness?: Pick<TurnTracer, 'recordRecall'>;
  /** Returns a security reminder for a suspicious message. */
  reinforce?: (question: string) => string | undefined;
}

export function createMemoryInjection(
  memories: MemoryRecall | undefined,
  { turn, lease, agent, principal, signal, traceparent }: TurnRun,
  { witness, reinforce }: MemoryInjectionOptions = {},
): MemoryInjection {
  const warnings: string[] = [];
  const about = { principal, agent, turnId: turn.turnId };
  const merged: MergedMessage[] = [...(turn.merged ?? [])];
  let request = '';
  return {
    warnings,
    warn: (warning) => void warnings.push(warning),
    async loadMemory(question, taint) {
      request = question;
      const { message, warning, found, isUntrusted } =
        (await memories?.recall({ ...about, session: lease.session, question, signal, traceparent })) ?? {};
      if (warning !== undefined) warnings.push(warning);
      if (isUntrusted) taint.mark();
      if (found) witness?.recordRecall(found);
      return joinNotes([foreignNote(lease.session), verbosityNote(agent.config, lease.session), reinforce?.(question)], message);
    },
    addMerged: (others) => void merged.push(...others),
    collectCaptured({ result, steps }, bodies) {
      const { turnId, sessionKey } = turn;
      const own = { agent, turnId, sessionKey, question: request, answer: result.response, steps };
      return merged.length === 0
        ? captureAll(own, [])
        : loadMergedMessages(bodies, turnId, merged).then((others) => captureAll(own, others));
    },
  };
}

/** Notes are placed directly before the message. */
function joinNotes(notes: readonly (string | undefined)[], message: ModelMessage | undefined): ModelMessage | undefined {
  const lines = [message?.role === 'user' ? message.text : undefined, ...notes].filter((line) => line !== undefined);
  return lines.length === 0 ? undefined : { role: 'user', text: lines.join('\n') };
}

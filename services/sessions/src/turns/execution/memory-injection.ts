import type { ModelMessage } from '@switchyard/models';
import type { Heard } from '../../model/turn-document.ts';
import type { Bodies } from '../../model/stored-text.ts';
import { allCapturedOf, type Captured } from '../../memory/captured-turn.ts';
import type { Witness } from '../../agent-loop/turn-trace.ts';
import { foreignNote } from '../../screening/untrusted-message.ts';
import type { TurnOutcome } from '../../agent-loop/turn-plan.ts';
import type { Memories } from '../../memory/memory-recall.ts';
import { heardIn } from '../../model/merged-messages.ts';
import type { RunGiven } from './turn-run.ts';
import { verbosityNote } from '../../agent-loop/verbosity.ts';

/** Loads memories into the prompt of a turn, and collects what the memory service should store of it. */
export interface Reminding {
  remind: (question: string) => Promise<ModelMessage | undefined>;
  /** Warnings for the owner, for example about missing memory. */
  readonly warnings: readonly string[];
  warn: (warning: string) => void;
  /** Adds the messages that the turn has merged. */
  joined: (others: readonly Heard[]) => void;
  /** Returns what the agent is configured to store of the turn and of the merged messages. */
  captured: (outcome: Pick<TurnOutcome, 'result' | 'steps'>, bodies: Bodies) => Promise<Captured[]> | Captured[];
}

interface Looking {
  witness?: Pick<Witness, 'recalled'>;
  /** Returns a security reminder for a suspicious message. */
  reinforce?: (question: string) => string | undefined;
}

export function createReminding(
  memories: Memories | undefined,
  { turn, hold, agent, principal, signal, traceparent }: RunGiven,
  { witness, reinforce }: Looking = {},
): Reminding {
  const warnings: string[] = [];
  const about = { principal, agent, turnId: turn.turnId };
  const heard: Heard[] = [...(turn.joined ?? [])];
  let asked = '';
  return {
    warnings,
    warn: (warning) => void warnings.push(warning),
    async remind(question) {
      asked = question;
      const { message, warning, found } =
        (await memories?.recall({ ...about, session: hold.session, question, signal, traceparent })) ?? {};
      if (warning !== undefined) warnings.push(warning);
      if (found) witness?.recalled(found);
      return noted([foreignNote(hold.session), verbosityNote(agent.config, hold.session), reinforce?.(question)], message);
    },
    joined: (others) => void heard.push(...others),
    captured({ result, steps }, bodies) {
      const { turnId, sessionKey } = turn;
      const own = { agent, turnId, sessionKey, question: asked, answer: result.response, steps };
      return heard.length === 0 ? allCapturedOf(own, []) : heardIn(bodies, turnId, heard).then((others) => allCapturedOf(own, others));
    },
  };
}

/** Notes are placed directly before the message. */
function noted(notes: readonly (string | undefined)[], message: ModelMessage | undefined): ModelMessage | undefined {
  const lines = [message?.role === 'user' ? message.text : undefined, ...notes].filter((line) => line !== undefined);
  return lines.length === 0 ? undefined : { role: 'user', text: lines.join('\n') };
}

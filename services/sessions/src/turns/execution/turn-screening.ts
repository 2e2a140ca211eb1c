import type { Screened } from '@switchyard/contracts';
import type { TurnRunDeps, TurnRun } from './turn-run.ts';
import type { TurnTracer } from '../../agent-loop/turn-trace.ts';
import type { OutputFinding } from '../../screening/output-finding.ts';
import { REINFORCEMENT, type Speaker } from '../../screening/screening.ts';

/** Screens the messages and the output of one turn. */
export interface TurnScreening {
  /** Screens a message and returns a security reminder for the model if it looks like an injection. */
  screenMessage: (message: string) => string | undefined;
  /** Screens merged messages. */
  screenMerged: (messages: readonly string[]) => readonly string[];
  recordFinding: (finding: OutputFinding) => void;
  /** Records a tool result that looks like an injection. */
  recordResult: (screened: Screened) => void;
}

interface TurnScreeningOptions {
  witness: Pick<TurnTracer, 'recordScreening' | 'found'>;
  warn: (warning: string) => void;
}

/** A resumed run emits no event again for the first message. */
export function createTurnScreening(
  { screening }: Pick<TurnRunDeps, 'screening'>,
  { turn, lease, resumeFrom }: Pick<TurnRun, 'turn' | 'lease' | 'resumeFrom'>,
  { witness, warn }: TurnScreeningOptions,
): TurnScreening {
  const { agentId, sessionKey, client, turnId } = turn;
  const speaker: Speaker = { tenant: lease.tenant, client, agentId, sessionKey, traceId: turnId };

  function before(message: string, isRepeated = false): string | undefined {
    const screened = screening?.look(message);
    if (!screened) return undefined;
    witness.recordScreening(screened);
    if (!isRepeated) screening?.tellInput(speaker, screened);
    if (screened.risk === 'high') warn('A message of this turn looks like a prompt injection.');
    return screened.risk === 'low' ? undefined : REINFORCEMENT;
  }

  return {
    screenMessage: (message) => before(message, resumeFrom.steps > 0),
    screenMerged: (messages) => messages.flatMap((message) => [before(message), message].filter((one) => one !== undefined)),
    recordResult(screened) {
      witness.recordScreening(screened);
      screening?.tellToolResult(speaker, screened);
      if (screened.risk === 'high') warn('A tool result of this turn looks like a prompt injection.');
    },
    recordFinding(finding) {
      witness.found(finding);
      screening?.tellOutput(speaker, finding);
      if (finding.redacted.length > 0) warn(`Possible secrets were removed from the answer: ${finding.redacted.join(', ')}.`);
    },
  };
}

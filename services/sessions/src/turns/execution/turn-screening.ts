import type { RunDeps, RunGiven } from './turn-run.ts';
import type { Witness } from '../../agent-loop/turn-trace.ts';
import type { OutputFinding } from '../../screening/output-finding.ts';
import { REINFORCEMENT, type Speaker } from '../../screening/screening.ts';

/** Screens the messages and the output of one turn. */
export interface LookingAtTurn {
  /** Screens a message and returns a security reminder for the model if it looks like an injection. */
  before: (message: string) => string | undefined;
  /** Screens merged messages. */
  heard: (messages: readonly string[]) => readonly string[];
  found: (finding: OutputFinding) => void;
}

interface Telling {
  witness: Pick<Witness, 'screened' | 'found'>;
  warn: (warning: string) => void;
}

/** A resumed run emits no event again for the first message. */
export function lookAtTurn(
  { screening }: Pick<RunDeps, 'screening'>,
  { turn, hold, from }: Pick<RunGiven, 'turn' | 'hold' | 'from'>,
  { witness, warn }: Telling,
): LookingAtTurn {
  const { agentId, sessionKey, client, turnId } = turn;
  const speaker: Speaker = { tenant: hold.tenant, client, agentId, sessionKey, traceId: turnId };

  function before(message: string, again = false): string | undefined {
    const screened = screening?.look(message);
    if (!screened) return undefined;
    witness.screened(screened);
    if (!again) screening?.tellInput(speaker, screened);
    if (screened.risk === 'high') warn('A message of this turn looks like an attack on the agent.');
    return screened.risk === 'low' ? undefined : REINFORCEMENT;
  }

  return {
    before: (message) => before(message, from.steps > 0),
    heard: (messages) => messages.flatMap((message) => [before(message), message].filter((one) => one !== undefined)),
    found(finding) {
      witness.found(finding);
      screening?.tellOutput(speaker, finding);
      if (finding.redacted.length > 0) warn(`What looked like a secret was taken out of the answer: ${finding.redacted.join(', ')}.`);
    },
  };
}

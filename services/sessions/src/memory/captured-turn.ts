import type { Params } from '@switchyard/contracts';
import type { Agent } from '../agents/agent-directory.ts';
import { isForeign } from '../screening/untrusted-message.ts';

/** What is told of a turn, to be remembered. */
export type Captured = Params<'memory.capture'>['captured'][number];

/** A turn that has an answer. */
export interface Capturing {
  agent: Agent;
  turnId: string;
  sessionKey: string;
  question: string;
  answer: string;
  /** How many times its model was asked: more than once only where a tool was used. */
  steps: number;
}

/** Of a question and of an answer: what is longer than both together is never recalled. */
const KEPT_CHARS = 1_900;

const ASKS_TO_REMEMBER = /^\W*(?:please\s+|kindly\s+)?(?:remember|memori[sz]e|keep\s+in\s+mind|don['’]?t\s+forget|make\s+a\s+note|note)\b/i;

/** The same of a turn and of those whose messages it has heard: each of them is remembered for itself. */
export function allCapturedOf(turn: Capturing, heard: readonly Pick<Capturing, 'turnId' | 'question'>[]): Captured[] {
  return [turn, ...heard.map((other) => ({ ...turn, ...other }))].flatMap((one) => capturedOf(one) ?? []);
}

/** What its agent is set to keep of a turn; undefined where that is nothing. */
function capturedOf({ agent, turnId, sessionKey, question, answer, steps }: Capturing): Captured | undefined {
  const { capture } = agent.config.rag;
  const foreign = isForeign(sessionKey);
  const about = { turnId, agentId: agent.agentId, sessionKey, ...(foreign && { sourceType: 'web' as const }) };
  if (capture === 'all' && question !== '') {
    // What a tool was asked may come from outside.
    return {
      ...about,
      content: `Asked: ${cut(question)}\nAnswered: ${cut(answer)}`,
      memoryType: 'episodic',
      outside: foreign || steps > 1,
    };
  }
  // What the client says itself comes from no tool; a webhook says what strangers wrote.
  if (capture === 'asked' && ASKS_TO_REMEMBER.test(question)) {
    return { ...about, content: cut(question), memoryType: 'semantic', outside: foreign };
  }
  return undefined;
}

function cut(text: string): string {
  return text.length <= KEPT_CHARS ? text : `${text.slice(0, KEPT_CHARS).toWellFormed()}…`;
}

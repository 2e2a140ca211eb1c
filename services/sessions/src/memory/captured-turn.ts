import type { Params } from '@switchyard/contracts';
import type { Agent } from '../agents/agent-directory.ts';
import { isForeign } from '../screening/untrusted-message.ts';

/** What is told of a turn, to be remembered. */
export type CapturedTurn = Params<'memory.capture'>['captured'][number];

/** A turn that has an answer. */
export interface CaptureInput {
  agent: Agent;
  turnId: string;
  sessionKey: string;
  question: string;
  answer: string;
  /** Number of model calls; more than one only if a tool was used. */
  steps: number;
}

/** Of a question and of an answer: what is longer than both together is never recalled. */
const MAX_CAPTURED_CHARS = 1_900;

const ASKS_TO_REMEMBER = /^\W*(?:please\s+|kindly\s+)?(?:remember|memori[sz]e|keep\s+in\s+mind|don['’]?t\s+forget|make\s+a\s+note|note)\b/i;

/** The same of a turn and of those whose messages it has heard: each of them is remembered for itself. */
export function captureAll(turn: CaptureInput, heard: readonly Pick<CaptureInput, 'turnId' | 'question'>[]): CapturedTurn[] {
  return [turn, ...heard.map((other) => ({ ...turn, ...other }))].flatMap((one) => captureTurn(one) ?? []);
}

/** What its agent is set to keep of a turn; undefined where that is nothing. */
function captureTurn({ agent, turnId, sessionKey, question, answer, steps }: CaptureInput): CapturedTurn | undefined {
  const { capture } = agent.config.rag;
  const foreign = isForeign(sessionKey);
  const about = { turnId, agentId: agent.agentId, sessionKey, ...(foreign && { sourceType: 'web' as const }) };
  if (capture === 'all' && question !== '') {
    // An answer based on tool results may contain external text.
    return {
      ...about,
      content: `Asked: ${cut(question)}\nAnswered: ${cut(answer)}`,
      memoryType: 'episodic',
      outside: foreign || steps > 1,
    };
  }
  // The client's own words are trusted; webhook messages are not.
  if (capture === 'asked' && ASKS_TO_REMEMBER.test(question)) {
    return { ...about, content: cut(question), memoryType: 'semantic', outside: foreign };
  }
  return undefined;
}

function cut(text: string): string {
  return text.length <= MAX_CAPTURED_CHARS ? text : `${text.slice(0, MAX_CAPTURED_CHARS).toWellFormed()}…`;
}

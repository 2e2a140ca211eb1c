import type { Params } from '@switchyard/contracts';
import type { Agent } from '../agents/agent-directory.ts';
import { isForeign } from '../screening/untrusted-message.ts';

/** A captured message as the memory service receives it. */
export type CapturedTurn = Params<'memory.capture'>['captured'][number];

/** A turn with an answer. */
export interface CaptureInput {
  agent: Agent;
  turnId: string;
  sessionKey: string;
  question: string;
  answer: string;
  /** Number of model calls; more than one only if a tool was used. */
  steps: number;
}

/** Maximum characters of question and answer. Longer memories are never recalled. */
const MAX_CAPTURED_CHARS = 1_900;

const ASKS_TO_REMEMBER = /^\W*(?:please\s+|kindly\s+)?(?:remember|memori[sz]e|keep\s+in\s+mind|don['’]?t\s+forget|make\s+a\s+note|note)\b/i;

/** Captures a turn and the messages that it has merged, each separately. */
export function captureAll(turn: CaptureInput, merged: readonly Pick<CaptureInput, 'turnId' | 'question'>[]): CapturedTurn[] {
  return [turn, ...merged.map((other) => ({ ...turn, ...other }))].flatMap((one) => captureTurn(one) ?? []);
}

/** Returns what the agent is configured to capture; undefined if nothing. */
function captureTurn({ agent, turnId, sessionKey, question, answer, steps }: CaptureInput): CapturedTurn | undefined {
  const { capture } = agent.config.rag;
  const isUntrusted = isForeign(sessionKey);
  const about = { turnId, agentId: agent.agentId, sessionKey, ...(isUntrusted && { sourceType: 'web' as const }) };
  if (capture === 'all' && question !== '') {
    // An answer based on tool results may contain external text.
    return {
      ...about,
      content: `Asked: ${cut(question)}\nAnswered: ${cut(answer)}`,
      memoryType: 'episodic',
      outside: isUntrusted || steps > 1,
    };
  }
  // The client's own words are trusted; webhook messages are not.
  if (capture === 'asked' && ASKS_TO_REMEMBER.test(question)) {
    return { ...about, content: cut(question), memoryType: 'semantic', outside: isUntrusted };
  }
  return undefined;
}

function cut(text: string): string {
  return text.length <= MAX_CAPTURED_CHARS ? text : `${text.slice(0, MAX_CAPTURED_CHARS).toWellFormed()}…`;
}

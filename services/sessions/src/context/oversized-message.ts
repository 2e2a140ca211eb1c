import { toolName, type AgentConfig } from '@switchyard/contracts';
import type { Exchange } from './exchange-cache.ts';
import type { TurnMessageRef } from '../model/turn-messages.ts';
import { allows } from '../agents/tool-policy.ts';
import { CHARS_PER_TOKEN } from '../context-window/context-window.ts';

/** Characters of an oversized message that are included in the prompt as a preview. */
const SHOWN_CHARS = 1_000;
const READS_ON = 'ctx.inspect';

/** Truncates oversized messages in the prompt and states how to read the rest. */
export interface SettingAside {
  /** Size of an exchange in the prompt. */
  charsOf: (exchange: Exchange) => number;
  getTold: (message: Pick<TurnMessageRef, 'turnId' | 'content'> & { n: number }, text: string) => string;
  /** True after at least one message was truncated. */
  readonly some: boolean;
}

/** Truncates messages that the agent can look up, and never the current message. The full text stays in its turn. */
export function createSettingAside({ contextEngine, skills }: Pick<AgentConfig, 'contextEngine' | 'skills'>): SettingAside {
  const { enabled, largeFileTokenThreshold } = contextEngine;
  const max = enabled ? largeFileTokenThreshold * CHARS_PER_TOKEN : Infinity;
  let may: boolean | undefined;
  let some = false;
  const isAside = (chars: number): boolean => chars > max && (may ??= allows(skills.toolPolicy, READS_ON));
  return {
    get some() {
      return some;
    },
    charsOf({ chars, spoken }) {
      if (chars <= max) return chars;
      const promptMessages = spoken.map(({ turnId, content: said }, n) =>
        isAside(said.chars) ? SHOWN_CHARS + getWord(turnId, n, said.chars).length : said.chars,
      );
      return promptMessages.reduce((sum, one) => sum + one, 0);
    },
    getTold({ turnId, content: said, n }, text) {
      if (!isAside(said.chars)) return text;
      some = true;
      return `${text.slice(0, SHOWN_CHARS).toWellFormed()}${getWord(turnId, n, said.chars)}`;
    },
  };
}

function getWord(turnId: string, n: number, chars: number): string {
  const id = `${turnId}/${n}`;
  const rest = `${toolName(READS_ON)} ${JSON.stringify({ id, offset: SHOWN_CHARS })} returns the next part.`;
  return `… [truncated: ${chars - SHOWN_CHARS} of ${chars} characters follow. ${rest}]`;
}

import { describeTool, type AgentConfig } from '@switchyard/contracts';
import type { Exchange } from './exchange-cache.ts';
import type { TurnMessageRef } from '../model/turn-messages.ts';
import { allows } from '../tools/tool-policy.ts';
import { CHARS_PER_TOKEN } from '../context-window/context-window.ts';

/** Characters of an oversized message that are included in the prompt as a preview. */
const PREVIEW_CHARS = 1_000;
const INSPECT_TOOL = describeTool('ctx.inspect');

/** Truncates oversized messages in the prompt and states how to read the rest. */
export interface MessageTruncator {
  /** Size of an exchange in the prompt. */
  getChars: (exchange: Exchange) => number;
  render: (message: Pick<TurnMessageRef, 'turnId' | 'content'> & { n: number }, text: string) => string;
  /** Whether at least one message was truncated. */
  readonly hasTruncated: boolean;
}

/** Truncates messages that the agent can look up, and never the current message. The full text stays in its turn. */
export function createMessageTruncator({ contextEngine, skills }: Pick<AgentConfig, 'contextEngine' | 'skills'>): MessageTruncator {
  const { enabled, largeFileTokenThreshold } = contextEngine;
  const maxChars = enabled ? largeFileTokenThreshold * CHARS_PER_TOKEN : Infinity;
  let canInspect: boolean | undefined;
  let hasTruncated = false;
  const isOversized = (chars: number): boolean => chars > maxChars && (canInspect ??= allows(skills.toolPolicy, INSPECT_TOOL));
  return {
    get hasTruncated() {
      return hasTruncated;
    },
    getChars({ chars, messages }) {
      if (chars <= maxChars) return chars;
      const sizes = messages.map(({ turnId, content }, n) =>
        isOversized(content.chars) ? PREVIEW_CHARS + renderReference(turnId, n, content.chars).length : content.chars,
      );
      return sizes.reduce((sum, size) => sum + size, 0);
    },
    render({ turnId, content, n }, text) {
      if (!isOversized(content.chars)) return text;
      hasTruncated = true;
      return `${text.slice(0, PREVIEW_CHARS).toWellFormed()}${renderReference(turnId, n, content.chars)}`;
    },
  };
}

/** Renders the end of a preview: how much text follows, and the tool call that returns it. */
function renderReference(turnId: string, n: number, chars: number): string {
  const id = `${turnId}/${n}`;
  const rest = `${INSPECT_TOOL.name} ${JSON.stringify({ id, offset: PREVIEW_CHARS })} returns the next part.`;
  return `… [truncated: ${chars - PREVIEW_CHARS} of ${chars} characters follow. ${rest}]`;
}

import type { AgentConfig } from '@switchyard/contracts';
import type { SessionDocument } from '../model/session-document.ts';
import { parseSessionKey } from '../model/session-key.ts';

type Verbosity = AgentConfig['verbosity'];

/** Prompt text for each level; with `auto` the model decides. */
const LEVELS: Readonly<Record<Verbosity['defaultLevel'], string | undefined>> = {
  auto: undefined,
  terse: 'Answer in as few words as possible, without explanations.',
  concise: 'Answer briefly. Add little beyond the answer itself.',
  standard: 'Answer at normal length.',
  detailed: 'Answer at length, with reasons and details.',
};

/** Returns a note about length and format for this session; undefined if the model decides. */
export function verbosityNote({ verbosity }: Pick<AgentConfig, 'verbosity'>, session: SessionDocument): string | undefined {
  if (!verbosity.enabled) return undefined;
  const { channelId, key } = session;
  const [channelType = channelId] = channelId.split(':');
  const { overrides } = verbosity;
  const own = Object.hasOwn(overrides, channelId)
    ? overrides[channelId]
    : Object.hasOwn(overrides, channelType)
      ? overrides[channelType]
      : {};
  const inThread = parseSessionKey(key)?.threadId === undefined ? undefined : verbosity.threadLevel;
  const { level = inThread ?? verbosity.defaultLevel, maxResponseChars, useMarkdown, allowCodeBlocks } = own ?? {};
  const lines = [
    LEVELS[level],
    maxResponseChars === undefined ? undefined : `Use at most ${maxResponseChars} characters.`,
    useMarkdown === false ? 'Write plain text without Markdown.' : undefined,
    allowCodeBlocks === false ? 'Do not use code blocks.' : undefined,
  ].filter((line) => line !== undefined);
  return lines.length === 0 ? undefined : `Format of your next answer: ${lines.join(' ')}`;
}

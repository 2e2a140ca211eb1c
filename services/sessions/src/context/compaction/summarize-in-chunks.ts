import type { AgentConfig } from '@switchyard/contracts';
import { getChunks, type Line } from './summary-chunks.ts';
import { CHARS_PER_TOKEN } from '../../context-window/context-window.ts';
import { cut, type Source, type Summary } from './summarizer.ts';

export interface InChunks {
  config: Pick<AgentConfig['session']['compaction'], 'chunkMaxChars' | 'chunkOverlapMessages' | 'chunkMergeSummaries'>;
  ask: (source: Source) => Promise<Summary>;
}

/**
 * Summarizes input that exceeds the context window of the summarizer. Summarizes each chunk, then merges the chunk summaries, or
 * concatenates them if merging is off. The result has at most the requested length. An error in one chunk fails the whole summary,
 * because a partial summary is of no use.
 */
export async function inChunks({ config, ask }: InChunks, source: Source): Promise<Summary> {
  const { chunkMaxChars, chunkOverlapMessages, chunkMergeSummaries } = config;
  const chunks = getChunks(source.lines, { maxChars: chunkMaxChars, overlap: chunkOverlapMessages });
  if (chunks.length <= 1) return ask(source);
  const max = chunkMergeSummaries ? source.targetTokens : Math.ceil(source.targetTokens / chunks.length);
  const parts: Summary[] = [];
  for (const lines of chunks) parts.push(await ask({ ...source, lines, targetTokens: getTarget(max, lines) }));
  const texts = parts.map(({ text }) => ({ role: 'summary', text }));
  const text = cut(parts.map((part) => part.text).join('\n'), source.targetTokens * CHARS_PER_TOKEN);
  const last = chunkMergeSummaries ? await ask({ ...source, lines: texts }) : { text, input: 0, output: 0, costUsd: 0 };
  return [...parts, last].reduce((sum, part) => ({
    text: part.text,
    input: sum.input + part.input,
    output: sum.output + part.output,
    costUsd: sum.costUsd + part.costUsd,
  }));
}

/** The target length of a summary, which is always shorter than its input. */
export function getTarget(most: number, lines: readonly Line[]): number {
  const chars = lines.reduce((sum, { text }) => sum + text.length, 0);
  return Math.max(1, Math.min(most, Math.floor(chars / CHARS_PER_TOKEN / 2)));
}

import { inputSchema, MAX, parseParams, type AgentConfig, type ToolGroup } from '@switchyard/contracts';
import type { ModelMessage, ToolSpec } from '@switchyard/models';
import { z } from 'zod';
import type { Tool } from './tool-catalog.ts';

/** Name of the tool that finds deferred tools. */
export const DISCOVER_TOOL = 'discover';

const DiscoverInput = z.strictObject({
  query: z.string().min(1).max(MAX.name).describe('keywords of the task, or the name of a tool or group'),
  limit: z.int().min(1).max(20).default(5),
});

/** What `discover` returns. The tools are callable from the next step on. */
const Discovered = z.object({ tools: z.array(z.object({ name: z.string(), description: z.string() })), hint: z.string().optional() });
type Discovered = z.infer<typeof Discovered>;

/** Term saturation and length normalization of BM25, at their usual values. */
const [K1, B] = [1.2, 0.75];
/** Minimum length of a word for prefix matches. */
const MIN_PREFIX_CHARS = 4;
const WORD = /\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{Lo}+|\p{N}+/gu;

/** Describes `discover` with the groups that it searches, so that a model knows what it can look for. */
export function describeDiscover(deferred: readonly Tool[]): ToolSpec {
  const groups = new Map<ToolGroup, number>();
  for (const { group } of deferred) groups.set(group, (groups.get(group) ?? 0) + 1);
  const counts = [...groups].map(([group, count]) => `${group} (${count})`).join(', ');
  const description = `Finds further tools by keywords. Found tools can be called from the next step on. Groups: ${counts}.`;
  return { name: DISCOVER_TOOL, description, parameters: inputSchema(DiscoverInput) };
}

/**
 * Searches the deferred tools. The BM25 score is relative to the best match; the hybrid score is the mean of it and of the share of words
 * that match in any form. A tool is found when one of the two reaches its minimum.
 */
export function discoverTools(
  deferred: readonly Tool[],
  input: unknown,
  { minBm25Score, minHybridScore }: AgentConfig['skills']['toolDiscovery'],
): Discovered {
  const { query, limit } = parseParams(DiscoverInput, input);
  const words = [...new Set(splitWords(query))];
  const documents = deferred.map((tool) => ({ tool, words: splitWords(describe(tool)) }));
  const scores = scoreBm25(documents, words);
  const best = Math.max(...scores, Number.MIN_VALUE);
  const found = documents
    .map(({ tool, words: own }, at) => {
      const bm25 = (scores[at] ?? 0) / best;
      return { tool, bm25, hybrid: (bm25 + matchShare(words, own)) / 2 };
    })
    .filter(({ bm25, hybrid }) => hybrid > 0 && (bm25 >= minBm25Score || hybrid >= minHybridScore))
    .toSorted((one, other) => other.hybrid - one.hybrid)
    .slice(0, limit);
  const tools = found.map(({ tool: { name, spec } }) => ({ name, description: spec.description }));
  return tools.length > 0 ? { tools } : { tools, hint: 'No tool matches. Use other keywords, or the name of a group.' };
}

/** Returns the names of the tools that earlier steps of a turn discovered or called. */
export function listDiscovered(messages: readonly ModelMessage[]): string[] {
  return messages.flatMap((message) => {
    if (message.role === 'assistant') return (message.toolCalls ?? []).map(({ name }) => name);
    if (message.role !== 'tool' || message.name !== DISCOVER_TOOL) return [];
    const { data } = Discovered.safeParse(message.result);
    return (data?.tools ?? []).map(({ name }) => name);
  });
}

function describe({ name, group, method = '', provider = '', spec }: Tool): string {
  const parameters = Object.keys(spec.parameters['properties'] ?? {});
  return [name, group, method, provider, spec.description, ...parameters].join(' ');
}

/** Words in lower case. Parts of names such as `session_history` and `filePath` are words of their own. */
function splitWords(text: string): string[] {
  return (text.match(WORD) ?? []).map((word) => word.toLowerCase());
}

function scoreBm25(documents: readonly { words: readonly string[] }[], query: readonly string[]): number[] {
  const mean = documents.reduce((sum, { words }) => sum + words.length, 0) / Math.max(1, documents.length);
  const weights = query.map((term) => {
    const having = documents.filter(({ words }) => words.includes(term)).length;
    return Math.log(1 + (documents.length - having + 0.5) / (having + 0.5));
  });
  return documents.map(({ words }) =>
    query.reduce((sum, term, at) => {
      const count = words.filter((word) => word === term).length;
      const saturated = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * words.length) / mean));
      return sum + (weights[at] ?? 0) * saturated;
    }, 0),
  );
}

/** Share of the query's words that the text contains, exactly or as a prefix in either direction. */
function matchShare(query: readonly string[], words: readonly string[]): number {
  const matching = query.filter((term) => words.some((word) => word === term || isPrefix(term, word) || isPrefix(word, term)));
  return matching.length / Math.max(1, query.length);
}

function isPrefix(short: string, long: string): boolean {
  return short.length >= MIN_PREFIX_CHARS && long.startsWith(short);
}

import type { CallResult } from '@switchyard/client';
import { Failure } from '../../output/failure.ts';
import { getChoice, getList, getNumber, getText } from '../../arguments/flags.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { print, printAs, remark, rows, table } from '../../output/output.ts';
import { self } from '../../server/installation.ts';
import { minute } from '../../output/times.ts';

type Entry = CallResult<'memory.search'>['results'][number];

export const TYPES = ['working', 'episodic', 'semantic', 'procedural'] as const;
const TRUST = ['system', 'learned', 'external'] as const;

export async function listMemories({ call, flags, output }: CommandContext): Promise<void> {
  const page = await call('memory.browse', {
    ...getNumber(flags, 'limit', 'limit'),
    ...getNumber(flags, 'offset', 'offset'),
    ...getText(flags, 'agent', 'agent_id'),
    ...getChoice(flags, 'type', { name: 'memory_type', of: TYPES }),
    ...getChoice(flags, 'trust', { name: 'trust_level', of: TRUST }),
    ...(flags['tags'] === undefined ? {} : { tags: getList(flags['tags']) }),
    ...(flags['oldest'] === undefined ? {} : { sort: 'oldest' }),
  });
  if (output !== 'table') return printAs(output, page);
  if (page.entries.length === 0) return remark('No memories.');
  printEntries(page.entries);
  const next = page.offset + page.entries.length;
  if (page.hasMore) remark(`${next} of ${page.total}. Next page: ${self()} memory list --offset ${next}`);
}

export async function searchMemories({ call, flags, output }: CommandContext, ...words: string[]): Promise<void> {
  const request = { query: words.join(' '), ...getNumber(flags, 'limit', 'limit'), ...getText(flags, 'agent', 'agent_id') };
  const found = await call('memory.search', request);
  if (output !== 'table') return printAs(output, found);
  if (found.results.length === 0) return remark('No memory matches.');
  printEntries(found.results);
}

export async function showMemory({ call, output }: CommandContext, id: string): Promise<void> {
  const { entry } = await call('memory.inspect', { id });
  if (!entry) throw new Failure(`Memory ${id} does not exist.`, `${self()} memory list`);
  if (output !== 'table') printAs(output, entry);
  else print(`${rows(described(entry))}\n${entry.content}\n`);
}

export async function showStats({ call, output }: CommandContext): Promise<void> {
  const stats = await call('memory.stats', {});
  if (output !== 'table') return printAs(output, stats);
  const counts = (by: Readonly<Record<string, number>> = {}): string =>
    Object.entries(by)
      .map(([name, count]) => `${name} ${count}`)
      .join('  ');
  const known: [string, string][] = [
    ['memories', String(stats.totalEntries)],
    ['by type', counts(stats.byType)],
    ['by trust', counts(stats.byTrustLevel)],
    ['by agent', counts(stats.byAgent)],
    ['sessions', String(stats.totalSessions ?? 0)],
    ['vectors', `${stats.embeddedEntries ?? 0}${stats.embeddingProvider === undefined ? '' : `, by ${stats.embeddingProvider}`}`],
    ['bytes', String(stats.dbSizeBytes)],
    ['oldest', stats.oldestCreatedAt ? minute(stats.oldestCreatedAt) : ''],
  ];
  print(rows(known.filter(([, text]) => text !== '')));
}

export async function showCache({ call, output }: CommandContext): Promise<void> {
  const cache = await call('memory.embeddingCache', {});
  if (output !== 'table') return printAs(output, cache);
  const { provider, vecAvailable, size, maxEntries, hits, misses, hitRate, evictions, circuitBreaker } = cache;
  const made = provider === null ? 'none: full-text search only' : `${provider}${vecAvailable ? '' : ', not available at the moment'}`;
  print(
    rows([
      [
        'vectors by',
        `${made}${circuitBreaker === undefined || circuitBreaker.state === 'closed' ? '' : `, breaker ${circuitBreaker.state}`}`,
      ],
      ['remembered', `${size} of ${maxEntries}`],
      ['asked again', `${hits} of ${hits + misses} (${Math.round(hitRate * 100)} %)`],
      ['pushed out', String(evictions)],
    ]),
  );
}

function printEntries(entries: readonly Entry[]): void {
  const scored = entries.some(({ score }) => score !== undefined);
  const lines = entries.map(({ id, createdAt, agentId, trustLevel, score, content }) => [
    id,
    minute(createdAt),
    agentId,
    trustLevel,
    ...(scored ? [score?.toFixed(2) ?? ''] : []),
    content,
  ]);
  print(table(['ID', 'CREATED', 'AGENT', 'TRUST', ...(scored ? ['SCORE'] : []), 'CONTENT'], lines));
}

function described(entry: Entry): [string, string][] {
  const { id, agentId, userId, memoryType, trustLevel, taintLevel, source, sourceType, tags, createdAt, expiresAt, metadata } = entry;
  const known: [string, string | undefined][] = [
    ['id', id],
    ['agent', agentId],
    ['user', userId],
    ['kind', memoryType],
    ['trust', [trustLevel, taintLevel].filter(Boolean).join(', ')],
    ['source', [sourceType, source.who, source.channel, source.sessionKey].filter(Boolean).join('  ')],
    ['tags', tags.length === 0 ? undefined : tags.join(' ')],
    ['metadata', metadata && JSON.stringify(metadata)],
    ['created', new Date(createdAt).toISOString()],
    ['expires', expiresAt === undefined ? undefined : new Date(expiresAt).toISOString()],
  ];
  return known.flatMap(([label, text]) => (text === undefined ? [] : [[label, text]]));
}

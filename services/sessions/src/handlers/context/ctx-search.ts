import type { Handler } from '@switchyard/bus';
import type { Result } from '@switchyard/contracts';
import { getConversation, messagesBetween, type Earlier } from '../../context/conversation-lookup.ts';
import { wholeTree } from '../../context/compaction/summary-builder.ts';
import { patternFit, ranked, wordFit, type Fit } from '../../context/text-matching.ts';
import type { SessionDocument } from '../../model/session-document.ts';
import { getSnippet } from '../../search/snippet.ts';

type SearchMatch = Result<'ctx.search'>['results'][number];
type Candidate = Omit<SearchMatch, 'score'> & { fits: readonly number[] };

/** Limits of one search: the newest messages, and the duration. */
const MAX_MESSAGES = 20_000;
const MAX_MS = 10_000;

/** Scans the documents of one conversation. The method is called rarely, so a permanent index of all conversations would cost more. */
export function ctxSearch(earlier: Earlier): Handler<'ctx.search'> {
  return async ({ query, mode, scope, limit }, { principal, signal }) => {
    const session = await getConversation(earlier, principal);
    const fit = mode === 'regex' ? await patternFit(query) : wordFit(query);
    const looking = { tenant: principal.tenant, session, fit, query };
    const summaries = scope === 'messages' ? [] : await lookThroughSummaries(earlier, looking);
    const messages = scope === 'summaries' ? { found: [], whole: true } : await lookThroughMessages(earlier, looking, signal);
    const results = ranked([...messages.found, ...summaries])
      .slice(0, limit)
      .map(({ fits: _fits, ...one }) => one);
    return { results, whole: messages.whole };
  };
}

interface SearchScope {
  tenant: string;
  session: SessionDocument;
  fit: Fit;
  query: string;
}

async function lookThroughMessages(earlier: Earlier, { tenant, session, fit, query }: SearchScope, signal: AbortSignal) {
  const matches: Candidate[] = [];
  const deadline = performance.now() + MAX_MS;
  let looked = 0;
  for await (const message of messagesBetween(earlier, tenant, { session, from: 0, to: session.lastSeq, newestFirst: true })) {
    signal.throwIfAborted();
    if (looked >= MAX_MESSAGES || performance.now() >= deadline) return { found: matches, whole: false };
    looked += 1;
    const { id, role, turn, at, content } = message;
    matches.push({ id, kind: 'message', role, turn, at, snippet: '', fits: fit(content) });
    const last = matches.at(-1);
    if (last?.fits.some((one) => one > 0)) last.snippet = getSnippet(content, query);
  }
  return { found: matches, whole: true };
}

async function lookThroughSummaries(earlier: Earlier, { tenant, session, fit, query }: SearchScope): Promise<Candidate[]> {
  const summaries = await wholeTree(earlier, tenant, session);
  return summaries.map(({ id, text, createdAt }) => {
    return { id, kind: 'summary', at: createdAt, snippet: getSnippet(text, query), fits: fit(text) };
  });
}

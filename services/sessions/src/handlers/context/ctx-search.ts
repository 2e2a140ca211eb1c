import type { Handler } from '@switchyard/bus';
import type { Result } from '@switchyard/contracts';
import { createTextMatcher, type TextMatcher } from '@switchyard/store';
import { getConversation, messagesBetween, type Earlier } from '../../context/conversation-lookup.ts';
import { wholeTree } from '../../context/compaction/summary-builder.ts';
import { patternFit, ranked, wordFit, type Fit } from '../../context/text-matching.ts';
import type { SessionDocument } from '../../model/session-document.ts';
import { getSnippet } from '../../search/snippet.ts';

type SearchMatch = Result<'ctx.search'>['results'][number];
type Candidate = Omit<SearchMatch, 'score'> & { fits: readonly number[] };

/** The matches among `count` texts. `whole` is false if the limits ended the search early. */
interface Matches {
  found: readonly Candidate[];
  count: number;
  whole: boolean;
}

const NO_MATCHES: Matches = { found: [], count: 0, whole: true };

/** Limits of one search: the newest messages, and the duration. */
const MAX_MESSAGES = 20_000;
const MAX_MS = 10_000;

/** Scans the documents of one conversation. The method is called rarely, so a permanent index of all conversations would cost more. */
export function ctxSearch(earlier: Earlier): Handler<'ctx.search'> {
  return async ({ query, mode, scope, limit }, { principal, signal }) => {
    const session = await getConversation(earlier, principal);
    await using fit = mode === 'regex' ? await patternFit(query) : wordFit(query);
    const looking = { tenant: principal.tenant, session, fit, matcher: createTextMatcher(query) };
    const summaries = scope === 'messages' ? NO_MATCHES : await lookThroughSummaries(earlier, looking);
    const messages = scope === 'summaries' ? NO_MATCHES : await lookThroughMessages(earlier, looking, signal);
    const results = ranked([...messages.found, ...summaries.found], messages.count + summaries.count)
      .slice(0, limit)
      .map(({ fits: _fits, ...one }) => one);
    return { results, whole: messages.whole };
  };
}

interface SearchScope {
  tenant: string;
  session: SessionDocument;
  fit: Fit;
  /** Finds the text around a match. */
  matcher: TextMatcher;
}

async function lookThroughMessages(
  earlier: Earlier,
  { tenant, session, fit, matcher }: SearchScope,
  signal: AbortSignal,
): Promise<Matches> {
  const found: Candidate[] = [];
  const deadline = performance.now() + MAX_MS;
  let count = 0;
  for await (const message of messagesBetween(earlier, tenant, { session, from: 0, to: session.lastSeq, newestFirst: true })) {
    signal.throwIfAborted();
    if (count >= MAX_MESSAGES || performance.now() >= deadline) return { found, count, whole: false };
    count += 1;
    const { id, role, turn, at, content, outside } = message;
    const fits = await fit.score(content);
    if (fits.every((one) => one === 0)) continue;
    const snippet = await getSnippet(content, matcher);
    found.push({ id, kind: 'message', role, turn, at, snippet, ...(outside && { outside }), fits });
  }
  return { found, count, whole: true };
}

async function lookThroughSummaries(earlier: Earlier, { tenant, session, fit, matcher }: SearchScope): Promise<Matches> {
  const summaries = await wholeTree(earlier, tenant, session);
  const found: Candidate[] = [];
  for (const { id, text, createdAt, outside } of summaries) {
    const fits = await fit.score(text);
    if (fits.every((one) => one === 0)) continue;
    const snippet = await getSnippet(text, matcher);
    found.push({ id, kind: 'summary', at: createdAt, snippet, ...(outside && { outside }), fits });
  }
  return { found, count: summaries.length, whole: true };
}

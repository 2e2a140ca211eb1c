import type { Ctx } from '@switchyard/bus';
import { MAX, ServiceError } from '@switchyard/contracts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { reportInjection } from './report-injection.ts';
import { cutAtSentence } from '../parsers/text/cut-text.ts';
import { findLinks } from './find-links.ts';
import { wrapExternalContent } from './external-content.ts';

const ACCEPT = 'text/html, application/xhtml+xml, text/plain;q=0.9, application/pdf;q=0.8, */*;q=0.1';
/** A page is read whole before its article is found. Larger pages are refused. */
const MAX_PAGE_BYTES = 2_000_000;
const PARSE_TIMEOUT_MS = 15_000;
const MAX_PAGES = 5;

export interface EnrichedText {
  enrichedText: string;
  linksProcessed: number;
  errors: string[];
}

/** Appends the content of the first links of a text. A link that fails is listed, and the text stays unchanged for it. */
export async function enrichText(deps: MediaDeps, text: string, ctx: Ctx): Promise<EnrichedText> {
  const { enabled, maxLinks } = deps.settings.current.media.linkUnderstanding;
  if (!enabled) return { enrichedText: text, linksProcessed: 0, errors: [] };
  const links = findLinks(text, maxLinks);
  const results = await Promise.all(links.map((link) => readLink(deps, link, ctx)));
  const errors = results.flatMap((result, at) => ('error' in result ? [`${links[at] ?? ''}: ${result.error}`.slice(0, MAX.line)] : []));
  let enrichedText = text;
  let linksProcessed = 0;
  for (const result of results) {
    if ('error' in result) continue;
    if (enrichedText.length + result.content.length + 2 > MAX.text) {
      errors.push('the text has no room for the content of further links');
      break;
    }
    enrichedText += `\n\n${result.content}`;
    linksProcessed += 1;
  }
  return { enrichedText, linksProcessed, errors };
}

type LinkResult = { content: string } | { error: string };

async function readLink(deps: MediaDeps, link: string, ctx: Ctx): Promise<LinkResult> {
  const { linkUnderstanding, documentExtraction } = deps.settings.current.media;
  const { fetchTimeoutMs, maxContentChars, userAgentString: userAgent } = linkUnderstanding;
  const { tenant } = ctx.principal;
  try {
    const options = { tenant, signal: ctx.signal, maxBytes: MAX_PAGE_BYTES, timeoutMs: fetchTimeoutMs, userAgent, accept: ACCEPT };
    const { bytes, charset, url } = await deps.remote.fetch(link, options);
    const page = await deps.parser.parse(bytes, {
      tenant,
      signal: ctx.signal,
      timeoutMs: PARSE_TIMEOUT_MS,
      mode: 'article',
      // The article is cut at a sentence here, so the parser leaves one more sentence.
      maxChars: maxContentChars * 2,
      maxPages: MAX_PAGES,
      allowedTypes: documentExtraction.allowedMimes,
      ...(charset === undefined ? {} : { charset }),
      ...(url === undefined ? {} : { url }),
    });
    if (page.text === '') return { error: 'the page has no text' };
    reportInjection(page.text, ctx);
    const { text } = cutAtSentence(page.text, maxContentChars);
    const content = page.title === undefined || text.startsWith(`# ${page.title}`) ? text : `# ${page.title}\n\n${text}`;
    return { content: wrapExternalContent(content, url ?? link) };
  } catch (error) {
    if (ctx.signal.aborted || !(error instanceof ServiceError)) throw error;
    return { error: error.message };
  }
}

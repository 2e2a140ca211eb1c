import type { Extracted } from '../protocol/extracted.ts';
import type { ParseRequest } from '../protocol/protocol.ts';
import { decodeText } from '../text/decode-text.ts';
import type { HtmlDocument } from '../text/html-document.ts';
import { htmlToMarkdown, parseHtmlText, readTitle } from '../text/html-to-markdown.ts';

/** Characters that an article must have. With fewer, the whole page is used. */
const MIN_ARTICLE_CHARS = 200;

/** The visible text of a page under its title, or the text of its article. */
export async function parseHtml(bytes: Uint8Array, { mode, charset, url }: ParseRequest): Promise<Extracted> {
  const source = decodeText(bytes, charset);
  const document = parseHtmlText(source);
  const title = readTitle(document);
  const markdown = htmlToMarkdown(document.body ?? document.documentElement, url);
  const article = mode === 'article' ? await findArticle(source, url) : undefined;
  const page = mode === 'document' && !markdown.includes(title) ? `# ${title}\n\n${markdown}`.trim() : markdown;
  return { text: article ?? page, ...(title === '' ? {} : { title }) };
}

/** Reduces a page to its article. Hidden elements are removed before, because the library judges by words only. */
async function findArticle(source: string, url: string | undefined): Promise<string | undefined> {
  const { Readability } = await import('@mozilla/readability');
  const document = parseHtmlText(source);
  const article = new Readability(document, {
    charThreshold: MIN_ARTICLE_CHARS,
  }).parse();
  if (!article?.content) return undefined;
  const parsed: HtmlDocument = parseHtmlText(`<!doctype html><html><body>${article.content}</body></html>`);
  const text = htmlToMarkdown(parsed.body, url);
  return text.length < MIN_ARTICLE_CHARS ? undefined : text;
}

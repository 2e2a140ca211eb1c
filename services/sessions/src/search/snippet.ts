import { inSteps } from '@switchyard/service-kit';
import type { TextMatcher } from '@switchyard/store';

const BEFORE_CHARS = 80;
const AFTER_CHARS = 120;

/** Returns the text around the best match, or the beginning of a text without a match. */
export async function getSnippet(text: string, matcher: Pick<TextMatcher, 'locate'>): Promise<string> {
  const at = await inSteps(matcher.locate(text));
  const [from, to] = [Math.max(0, at - BEFORE_CHARS), at + AFTER_CHARS];
  const part = text.slice(from, to).replaceAll(/\s+/g, ' ').toWellFormed();
  return `${from > 0 ? '…' : ''}${part}${to < text.length ? '…' : ''}`;
}

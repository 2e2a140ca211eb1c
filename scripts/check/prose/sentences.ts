const MIN_WORDS = 3;
const CODE_LINE = /[;{}]\s*$|=>|\)\s*;|^\s*(?:import|export|const|let|var|return|if \(|for \(|await) |^\s*[@#]|^\s*<|^\s*\w+\(.*\)\s*$/;
const LIST_ITEM = /^\s*(?:[-*+•]|\d+[.)])\s+/;
const DIRECTIVE = /oxlint|@ts-|copyright|#region|#endregion/i;

/** Splits a paragraph into sentences of at least three words, without Markdown links and leading punctuation. */
export function splitSentences(paragraph: string): string[] {
  const text = paragraph
    .replace(/\s+/g, ' ')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\{@link\s+([^}|]*)[^}]*\}/g, '$1')
    .trim();
  return text
    .split(/(?<=[.!?])(?:["')\]*_]*)\s+(?=["'([`*_]*[A-Z`])|(?<=[a-z`][:;]) (?=[A-Z])/)
    .map((sentence) => sentence.replace(/^[\s"'(*_>#-]+/, '').trim())
    .filter((sentence) => sentence.split(/\s+/).length >= MIN_WORDS && /[a-z]{2}/.test(sentence));
}

/** Splits the body of a comment into paragraphs. List items are paragraphs; lines of code, examples and linter directives are dropped. */
export function splitComment(body: string): string[] {
  if (DIRECTIVE.test(body.slice(0, 300))) return [];
  let fenced = false;
  const lines = body.split('\n').flatMap((raw) => {
    const line = raw.replace(/^\s*\*{0,2} ?/, '');
    if (/^\s*```/.test(line)) fenced = !fenced;
    if (fenced || CODE_LINE.test(line)) return [''];
    return LIST_ITEM.test(line) ? ['', line.replace(LIST_ITEM, '')] : [line];
  });
  return lines.join('\n').split(/\n\s*\n/);
}

/** Splits Markdown into paragraphs, headings, list items and table cells. Front matter, code blocks and HTML are dropped. */
export function splitMarkdown(source: string): string[] {
  const body = source
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/```[\s\S]*?```/g, '\n\n')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/<[^>\n]+>/g, ' ');
  const lines = body.split('\n').flatMap((line) => {
    if (/^[\s|:-]+$/.test(line)) return [''];
    if (/^\s*\|/.test(line)) return ['', ...line.split('|').flatMap((cell) => [cell.trim(), ''])];
    if (/^#{1,6} /.test(line)) return ['', line.replace(/^#+ /, ''), ''];
    return LIST_ITEM.test(line) ? ['', line.replace(LIST_ITEM, '')] : [line];
  });
  return lines.join('\n').split(/\n\s*\n/);
}

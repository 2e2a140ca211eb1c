import ts from 'typescript';
import { splitComment, splitMarkdown } from './sentences.ts';

export const KINDS = ['comments', 'docs', 'titles', 'messages'] as const;
export type Kind = (typeof KINDS)[number];

/** A paragraph of English in a file: of a comment, a page, the title of a test, or a message in a string literal. */
export interface Paragraph {
  kind: Kind;
  text: string;
  line: number;
}

const TEST_CODE = /(?:^|\/)tests?\/|\.(?:test|fixture|contract)\./;
const TEST_FUNCTIONS = new Set(['test', 'it', 'describe', 'suite']);
const MESSAGE = /^[A-Za-z`X][\w`'’,.:;()/ -]+$/;
const MIN_MESSAGE_WORDS = 4;

/** Extracts all English paragraphs of a source file or a Markdown page. */
export function extractParagraphs(path: string, source: string): Paragraph[] {
  if (path.endsWith('.md'))
    return splitMarkdown(source).map((text) => ({ kind: 'docs', text, line: lineAt(source, source.indexOf(text)) }));
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  return [...extractComments(file), ...extractStrings(file, !TEST_CODE.test(path))];
}

function extractComments(file: ts.SourceFile): Paragraph[] {
  const ranges = new Map<number, ts.CommentRange>();
  const visit = (node: ts.Node) => {
    if (ts.isToken(node)) {
      for (const range of ts.getLeadingCommentRanges(file.text, node.pos) ?? []) ranges.set(range.pos, range);
      for (const range of ts.getTrailingCommentRanges(file.text, node.end) ?? []) ranges.set(range.pos, range);
    }
    for (const child of node.getChildren(file)) visit(child);
  };
  visit(file);
  return joinLineComments(
    file,
    [...ranges.values()].toSorted((a, b) => a.pos - b.pos),
  );
}

/** Joins line comments on consecutive lines, so that a sentence that spans lines is read whole. */
function joinLineComments(file: ts.SourceFile, ranges: readonly ts.CommentRange[]): Paragraph[] {
  const comments: { body: string; line: number; lastLine: number; isLine: boolean }[] = [];
  for (const { pos, end, kind } of ranges) {
    const isLine = kind === ts.SyntaxKind.SingleLineCommentTrivia;
    const body = isLine ? file.text.slice(pos + 2, end) : file.text.slice(pos + 2, end - 2);
    const line = lineAt(file.text, pos);
    const last = comments.at(-1);
    if (isLine && last?.isLine && last.lastLine + 1 === line) Object.assign(last, { body: `${last.body}\n${body}`, lastLine: line });
    else comments.push({ body, line, lastLine: lineAt(file.text, end), isLine });
  }
  return comments.flatMap(({ body, line }) => splitComment(body).map((text) => ({ kind: 'comments' as const, text, line })));
}

function extractStrings(file: ts.SourceFile, withMessages: boolean): Paragraph[] {
  const matches: Paragraph[] = [];
  const visit = (node: ts.Node) => {
    const text = textOfLiteral(node);
    if (text !== undefined) {
      const line = lineAt(file.text, node.getStart(file));
      if (isTestTitle(node)) matches.push({ kind: 'titles', text, line });
      else if (withMessages && MESSAGE.test(text) && text.split(/\s+/).length >= MIN_MESSAGE_WORDS)
        matches.push({ kind: 'messages', text, line });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return matches;
}

/** The text of a string or template literal; each substitution of a template reads as "X". */
function textOfLiteral(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map((span) => `X${span.literal.text}`).join('');
}

function isTestTitle(node: ts.Node): boolean {
  const call = node.parent;
  if (!ts.isCallExpression(call) || call.arguments[0] !== node) return false;
  const callee = ts.isPropertyAccessExpression(call.expression) ? call.expression.expression : call.expression;
  return ts.isIdentifier(callee) && TEST_FUNCTIONS.has(callee.text);
}

function lineAt(source: string, position: number): number {
  return source.slice(0, Math.max(position, 0)).split('\n').length;
}

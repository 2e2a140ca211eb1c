// One file, which loads in a third of the time of the many modules of the default entry.
import { parseHTML } from 'linkedom/worker';
import { findHidden } from './hidden-elements.ts';
import type { HtmlDocument, HtmlElement } from './html-document.ts';
import type { XmlNode } from './xml.ts';

const ELEMENT = 1;
const TEXT = 3;
const SKIPPED = new Set([
  'TITLE',
  'SCRIPT',
  'STYLE',
  'NOSCRIPT',
  'TEMPLATE',
  'HEAD',
  'IFRAME',
  'OBJECT',
  'SVG',
  'CANVAS',
  'SELECT',
  'BUTTON',
]);
const BLOCKS = new Set(
  'ADDRESS ARTICLE ASIDE BLOCKQUOTE BODY CAPTION DD DETAILS DIV DL DT FIELDSET FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL P PRE SECTION SUMMARY TABLE TR UL'.split(
    ' ',
  ),
);
/** Deeper elements are read as text. The recursion of this module ends there. */
const MAX_DEPTH = 300;

/** Parses a page and removes its hidden elements, comments and scripts. */
export function parseHtmlText(source: string): HtmlDocument {
  const html = /<html[\s>]/i.test(source) ? source : `<!doctype html><html><body>${source}</body></html>`;
  const { document } = parseHTML(html) as unknown as { document: HtmlDocument };
  for (const element of findHidden(document)) element.remove();
  return document;
}

export function readTitle(document: HtmlDocument): string {
  const [title] = document.querySelectorAll('title');
  return (title?.textContent ?? '').replaceAll(/\s+/g, ' ').trim();
}

/** Renders an element as Markdown: headings, lists, tables, links and code. */
export function htmlToMarkdown(root: HtmlElement, baseUrl?: string): string {
  const markdown = render(root, { baseUrl, depth: 0, indent: '' });
  return markdown
    .replaceAll(/[ \t]+\n/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

interface Context {
  baseUrl: string | undefined;
  depth: number;
  indent: string;
  isPre?: boolean;
}

function render(node: XmlNode, context: Context): string {
  if (node.nodeType === TEXT) return context.isPre === true ? (node.textContent ?? '') : (node.textContent ?? '').replaceAll(/\s+/g, ' ');
  const name = node.nodeName.toUpperCase();
  if (node.nodeType !== ELEMENT || SKIPPED.has(name)) return '';
  if (context.depth > MAX_DEPTH) return node.textContent ?? '';
  const inner: Context = { ...context, depth: context.depth + 1 };
  const heading = /^H([1-6])$/.exec(name)?.[1];
  if (heading !== undefined) return block(`${'#'.repeat(Number(heading))} ${oneLine(renderChildren(node, inner))}`, context);
  switch (name) {
    case 'BR':
      return `\n${context.indent}`;
    case 'HR':
      return block('---', context);
    case 'A':
      return renderLink(node as HtmlElement, inner);
    case 'IMG':
      return oneLine((node as HtmlElement).getAttribute('alt') ?? '');
    case 'PRE':
      return block(`\`\`\`\n${(node.textContent ?? '').replaceAll(/^\n|\s+$/g, '')}\n\`\`\``, context);
    case 'CODE':
      return wrap(node, inner, '`');
    case 'STRONG':
    case 'B':
      return wrap(node, inner, '**');
    case 'EM':
    case 'I':
      return wrap(node, inner, '*');
    case 'UL':
    case 'OL':
      return renderList(node, name, inner);
    case 'TABLE':
      return renderTable(node as HtmlElement, inner);
    case 'BLOCKQUOTE':
      return block(renderChildren(node, inner).trim().replaceAll(/^/gm, '> '), context);
    default:
      return BLOCKS.has(name) ? block(renderChildren(node, inner).trim(), context) : renderChildren(node, inner);
  }
}

function renderChildren(node: XmlNode, context: Context): string {
  let text = '';
  for (const child of node.childNodes) {
    const part = render(child, context);
    // One space between words, none at the start of a line.
    text += /(?:^|\s)$/.test(text) && context.isPre !== true ? part.replace(/^ +/, '') : part;
  }
  return text;
}

function block(text: string, { indent }: Context): string {
  return text === '' ? '' : `\n\n${indent}${text}\n\n${indent}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

function wrap(node: XmlNode, context: Context, mark: string): string {
  const text = oneLine(renderChildren(node, context));
  return text === '' ? '' : `${mark}${text}${mark}`;
}

function renderLink(node: HtmlElement, context: Context): string {
  const text = oneLine(renderChildren(node, context));
  const href = node.getAttribute('href') ?? '';
  if (text === '' || !URL.canParse(href, context.baseUrl)) return text;
  const { href: url, protocol } = new URL(href, context.baseUrl);
  return ['http:', 'https:', 'mailto:'].includes(protocol) && url !== text ? `[${text}](${url})` : text;
}

function renderList(node: XmlNode, name: string, context: Context): string {
  let number = 0;
  const items = [...node.childNodes].flatMap((item) => {
    if (item.nodeName.toUpperCase() !== 'LI') return [];
    const mark = name === 'OL' ? `${++number}. ` : '- ';
    const indent = context.indent + ' '.repeat(mark.length);
    const text = renderChildren(item, { ...context, indent })
      .trim()
      .replaceAll(/\n\s*\n/g, '\n');
    return text === '' ? [] : [`${context.indent}${mark}${text}`];
  });
  return items.length === 0 ? '' : `\n\n${items.join('\n')}\n\n${context.indent.slice(0, -2)}`;
}

function renderTable(node: HtmlElement, context: Context): string {
  const rows = [...node.querySelectorAll('tr')].map((row) =>
    [...row.childNodes]
      .filter((cell) => /^T[DH]$/i.test(cell.nodeName))
      .map((cell) => oneLine(renderChildren(cell, { ...context, indent: '' }))),
  );
  return `\n\n${formatTable(rows)}\n\n`;
}

/** Formats rows as a Markdown table. A table of one column or row is layout and becomes lines. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const filled = rows.filter((row) => row.some((cell) => cell !== ''));
  const width = Math.max(0, ...filled.map((row) => row.length));
  if (width < 2 || filled.length < 2) return filled.map((row) => row.filter((cell) => cell !== '').join(' ')).join('\n');
  const lines = filled.map(
    (row) => `| ${Array.from({ length: width }, (_, at) => (row[at] ?? '').replaceAll('|', String.raw`\|`)).join(' | ')} |`,
  );
  return [lines[0], `|${' --- |'.repeat(width)}`, ...lines.slice(1)].join('\n');
}

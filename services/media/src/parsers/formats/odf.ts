import type { Extracted } from '../protocol/extracted.ts';
import { DocumentRefusal, type ParseRequest } from '../protocol/protocol.ts';
import { formatTable } from '../text/html-to-markdown.ts';
import { findAll, localName, parseXml, type XmlNode } from '../text/xml.ts';
import { readZip } from '../text/zip.ts';
import { section } from './office-parts.ts';

const MAX_DEPTH = 200;
const MAX_REPEATED_SPACES = 100;

/** Texts and presentations of OpenDocument. */
export async function parseOdf(bytes: Uint8Array, { maxPages }: ParseRequest): Promise<Extracted> {
  const files = await readZip(bytes);
  const manifest = files.get('META-INF/manifest.xml')?.toString('utf8') ?? '';
  if (manifest.includes('encryption-data')) throw new DocumentRefusal('encrypted', 'the document is protected by a password');
  const content = files.get('content.xml');
  if (content === undefined) throw new DocumentRefusal('damaged', 'the document has no content.xml');
  const root = parseXml(content);
  const slides = findAll(root, 'page').filter((node) => node.nodeName.startsWith('draw:'));
  if (slides.length > 0) {
    const parts = slides.slice(0, maxPages).map((slide, at) => `[slide ${at + 1}]\n\n${renderBlocks(slide, 0)}`);
    const text = [tidy(parts.join('\n\n')), ...section('Comments', readComments(root))].join('\n\n');
    return { text, pageCount: slides.length, truncated: slides.length > maxPages };
  }
  const [body] = findAll(root, 'body');
  const text = tidy(body === undefined ? '' : renderBlocks(body, 0));
  const parts = [text, ...readPageStyles(files.get('styles.xml')), ...section('Comments', readComments(root))];
  return { text: parts.filter((part) => part !== '').join('\n\n') };
}

/** Comments, with their authors. */
function readComments(root: XmlNode): string[] {
  return findAll(root, 'annotation').flatMap((comment) => {
    const text = findAll(comment, 'p')
      .map((paragraph) => inline(paragraph, 0).trim())
      .join(' ')
      .trim();
    const author = (findAll(comment, 'creator')[0]?.textContent ?? '').trim();
    return text === '' ? [] : [author === '' ? text : `${author}: ${text}`];
  });
}

/** Headers and footers belong to the styles of the pages. Each text is given once. */
function readPageStyles(styles: Buffer | undefined): string[] {
  if (styles === undefined) return [];
  const root = parseXml(styles);
  const read = (name: string): string[] =>
    [...new Set(findAll(root, name).map((node) => tidy(renderBlocks(node, 0))))].filter((text) => text !== '');
  return [...section('Headers', read('header')), ...section('Footers', read('footer'))];
}

function tidy(text: string): string {
  return text.replaceAll(/\n{3,}/g, '\n\n').trim();
}

function renderBlocks(node: XmlNode, depth: number): string {
  if (depth > MAX_DEPTH) return node.textContent ?? '';
  let text = '';
  for (const child of node.childNodes) {
    switch (localName(child)) {
      case 'h':
        text += `\n\n${'#'.repeat(Math.min(6, Number(child.getAttribute?.('text:outline-level') ?? 1) || 1))} ${inline(child, 0).trim()}\n\n`;
        break;
      case 'p':
        text += `\n\n${inline(child, 0).trim()}\n\n`;
        break;
      case 'list':
        text += `\n\n${renderList(child, 0)}\n\n`;
        break;
      case 'table':
        text += `\n\n${renderTable(child)}\n\n`;
        break;
      case 'tracked-changes':
      case 'annotation':
      case 'sequence-decls':
        break;
      default:
        text += renderBlocks(child, depth + 1);
    }
  }
  return text;
}

function renderList(node: XmlNode, level: number): string {
  const lines: string[] = [];
  for (const item of node.childNodes) {
    if (localName(item) !== 'list-item') continue;
    for (const part of item.childNodes) {
      if (localName(part) === 'list' && level < MAX_DEPTH) lines.push(renderList(part, level + 1));
      else if (/^[ph]$/.test(localName(part))) lines.push(`${'  '.repeat(level)}- ${inline(part, 0).trim()}`);
    }
  }
  return lines.join('\n');
}

function renderTable(table: XmlNode): string {
  return formatTable(
    findAll(table, 'table-row').map((row) =>
      [...row.childNodes]
        .filter((cell) => localName(cell) === 'table-cell')
        .map((cell) => renderBlocks(cell, 0).replaceAll(/\s+/g, ' ').trim()),
    ),
  );
}

function inline(node: XmlNode, depth: number): string {
  if (depth > MAX_DEPTH) return node.textContent ?? '';
  let text = '';
  for (const child of node.childNodes) {
    const name = localName(child);
    if (child.nodeType === 3) text += child.textContent ?? '';
    else if (name === 's') text += ' '.repeat(Math.min(MAX_REPEATED_SPACES, Number(child.getAttribute?.('text:c') ?? 1) || 1));
    else if (name === 'tab') text += '\t';
    else if (name === 'line-break') text += '\n';
    else if (name === 'annotation') continue;
    else if (name === 'a') text += renderLink(child, depth);
    // Paragraphs of a footnote or a frame inside of this one.
    else if (name === 'p' || name === 'h') text += ` ${inline(child, depth + 1).trim()} `;
    else text += inline(child, depth + 1);
  }
  return text;
}

function renderLink(node: XmlNode, depth: number): string {
  const text = inline(node, depth + 1).trim();
  const url = node.getAttribute?.('xlink:href') ?? '';
  return /^(?:https?|mailto):/.test(url) && url !== text ? `[${text}](${url})` : text;
}

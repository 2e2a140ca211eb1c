import type { Extracted } from '../protocol/extracted.ts';
import { DocumentRefusal, type ParseRequest } from '../protocol/protocol.ts';
import { formatTable } from '../text/html-to-markdown.ts';
import { findAll, localName, parseXml, type XmlNode } from '../text/xml.ts';
import { readZip } from '../text/zip.ts';
import { parseParts, readCharts, readDiagrams, readParagraphs, section, type OfficeFiles } from './office-parts.ts';

const SLIDE = /^ppt\/slides\/slide(\d+)\.xml$/;

/** The slides in the order of the presentation, each with its title, texts, tables and notes; then comments, diagrams and charts. */
export async function parsePptx(bytes: Uint8Array, { maxPages }: ParseRequest): Promise<Extracted> {
  const files = await readZip(bytes);
  const paths = orderSlides(files);
  if (paths.length === 0) throw new DocumentRefusal('damaged', 'the presentation has no slides');
  const parts = paths.slice(0, maxPages).map((path, at) => {
    const notes = renderNotes(files, path);
    const body = renderSlide(parseXml(files.get(path) ?? Buffer.alloc(0)));
    return [`[slide ${at + 1}]`, body, notes === '' ? '' : `Notes: ${notes}`].filter((part) => part !== '').join('\n\n');
  });
  parts.push(
    ...section('Slide master', readMasters(files)),
    ...section('Comments', readComments(files)),
    ...section('Diagrams', readDiagrams(files)),
    ...section('Charts', readCharts(files)),
  );
  return { text: parts.join('\n\n'), pageCount: paths.length, truncated: paths.length > maxPages };
}

/** Slides as the presentation lists them; by their numbers if the list is missing. */
function orderSlides(files: OfficeFiles): string[] {
  const all = [...files.keys()].filter((path) => SLIDE.test(path)).toSorted((one, other) => numberOf(one) - numberOf(other));
  const presentation = files.get('ppt/presentation.xml');
  const relations = readRelations(files.get('ppt/_rels/presentation.xml.rels'));
  if (presentation === undefined || relations.size === 0) return all;
  const listed = findAll(parseXml(presentation), 'sldId')
    .map((node) => relations.get(node.getAttribute?.('r:id') ?? ''))
    .flatMap((target) => (target === undefined ? [] : [`ppt/${target.replace(/^\/?(?:ppt\/)?/, '')}`]))
    .filter((path) => files.has(path));
  return listed.length > 0 ? listed : all;
}

function numberOf(path: string): number {
  return Number(SLIDE.exec(path)?.[1] ?? 0);
}

function readRelations(bytes: Buffer | undefined): ReadonlyMap<string, string> {
  if (bytes === undefined) return new Map();
  const nodes = findAll(parseXml(bytes), 'Relationship');
  return new Map(nodes.map((node) => [node.getAttribute?.('Id') ?? '', node.getAttribute?.('Target') ?? '']));
}

function renderSlide(root: XmlNode): string {
  const parts: string[] = [];
  const [tree] = findAll(root, 'spTree');
  for (const shape of tree === undefined ? [] : listShapes(tree)) {
    const table = localName(shape) === 'graphicFrame' ? findAll(shape, 'tbl')[0] : undefined;
    if (table !== undefined) {
      parts.push(formatTable(findAll(table, 'tr').map((row) => findAll(row, 'tc').map((cell) => readParagraphs(cell).join(' ')))));
      continue;
    }
    const paragraphs = readParagraphs(shape);
    if (paragraphs.length === 0) continue;
    parts.push(isTitle(shape) ? `## ${paragraphs.join(' ')}` : paragraphs.join('\n'));
  }
  return parts.join('\n\n');
}

/** Shapes of a slide, also those in groups. */
function listShapes(tree: XmlNode): XmlNode[] {
  return [...tree.childNodes].flatMap((node) =>
    localName(node) === 'grpSp' ? listShapes(node) : ['sp', 'graphicFrame'].includes(localName(node)) ? [node] : [],
  );
}

function isTitle(shape: XmlNode): boolean {
  return findAll(shape, 'ph').some((node) => /^(?:title|ctrTitle)$/.test(node.getAttribute?.('type') ?? ''));
}

/** Comments with their authors. Their text is in elements of two kinds, by the version of the program that wrote them. */
function readComments(files: OfficeFiles): string[] {
  const authors = new Map(
    parseParts(files, /^ppt\/(?:commentAuthors|authors)\.xml$/)
      .flatMap((root) => findAll(root, 'cmAuthor', 'author'))
      .map((author) => [author.getAttribute?.('id') ?? '', author.getAttribute?.('name') ?? '']),
  );
  return parseParts(files, /^ppt\/comments\/.*\.xml$/)
    .flatMap((root) => findAll(root, 'cm'))
    .flatMap((comment) => {
      const text = [...findAll(comment, 'text').map(({ textContent }) => (textContent ?? '').trim()), ...readParagraphs(comment)]
        .join(' ')
        .trim();
      const author = authors.get(comment.getAttribute?.('authorId') ?? '') ?? '';
      return text === '' ? [] : [author === '' ? text : `${author}: ${text}`];
    });
}

/** Texts of masters and layouts that stand on the slides. Those of placeholders do not: a slide has its own text there, or none. */
function readMasters(files: OfficeFiles): string[] {
  const texts = parseParts(files, /^ppt\/slide(?:Master|Layout)s\/[^/]+\.xml$/)
    .flatMap((root) => findAll(root, 'sp'))
    .filter((shape) => findAll(shape, 'ph').length === 0)
    .flatMap(readParagraphs);
  return [...new Set(texts)];
}

function renderNotes(files: OfficeFiles, path: string): string {
  const relations = files.get(path.replace(/slides\/(slide\d+\.xml)$/, 'slides/_rels/$1.rels'));
  const target = [...readRelations(relations).values()].find((name) => name.includes('notesSlide'));
  const notes = target === undefined ? undefined : files.get(`ppt/${target.replace(/^(?:\.\.\/|\/ppt\/)/, '')}`);
  if (notes === undefined) return '';
  const shapes = findAll(parseXml(notes), 'sp').filter((shape) =>
    findAll(shape, 'ph').some((node) => node.getAttribute?.('type') === 'body'),
  );
  return shapes.flatMap(readParagraphs).join(' ');
}

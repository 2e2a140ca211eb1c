import { findAll, localName, parseXml, type XmlNode } from '../../services/media/src/parsers/text/xml.ts';

/** Elements that do not separate words. */
const INLINE = new Set('A B I U S EM STRONG SPAN SUB SUP FONT CODE TT SMALL BIG INS DEL'.split(' '));
/** Elements of Tika's XHTML with text that no reader sees on the pages of a document, by the type of the document. */
const EXTRAS: Readonly<Record<string, string>> = {
  // Bookmarks, which viewers show beside the pages, and the kinds of notes.
  'application/pdf': 'body > ul, .annotationSubject',
  // Placeholders of master slides.
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': '.slide-master-content, .slide-note-header',
};

/** The text that Tika reads from a file. */
export interface ReferenceText {
  /** The text of the document, and of all documents inside of it. */
  all: string;
  /** The text of the document alone, as far as a reader sees it. */
  visible: string;
}

/** Reads the output of Tika for a file: a list of documents with their XHTML, of which the first one is the file itself. */
export function readReference(json: string, mimeType: string): ReferenceText {
  const documents = JSON.parse(json) as { 'X-TIKA:content'?: string }[];
  const texts = documents.map(({ 'X-TIKA:content': xhtml = '' }) => renderText(xhtml));
  const extras = Object.hasOwn(EXTRAS, mimeType) ? EXTRAS[mimeType] : undefined;
  return {
    all: texts.join('\n'),
    visible: extras === undefined ? (texts[0] ?? '') : renderText(documents[0]?.['X-TIKA:content'] ?? '', extras),
  };
}

function renderText(xhtml: string, without?: string): string {
  if (xhtml === '') return '';
  // The byte order mark outweighs the charset that the page of the corpus has declared.
  const document = parseXml(Buffer.from(`\uFEFF${xhtml}`));
  if (without !== undefined) for (const element of document.querySelectorAll(without)) element.remove();
  const [body] = findAll(document, 'body');
  return body === undefined ? '' : joinText(body);
}

function joinText(root: XmlNode): string {
  const parts: string[] = [];
  const pending: (XmlNode | string)[] = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (typeof node === 'string') parts.push(node);
    else if (node.nodeType === 3) parts.push(node.textContent ?? '');
    else if (node.nodeType === 1) {
      const edge = INLINE.has(localName(node).toUpperCase()) ? [] : ['\n'];
      pending.push(...edge, ...[...node.childNodes].toReversed(), ...edge);
    }
  }
  return parts.join('');
}

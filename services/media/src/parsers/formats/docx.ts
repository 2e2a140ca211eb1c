import mammoth from 'mammoth';
import type { Extracted } from '../protocol/extracted.ts';
import { htmlToMarkdown, parseHtmlText } from '../text/html-to-markdown.ts';
import { findAll } from '../text/xml.ts';
import { readZip } from '../text/zip.ts';
import { parseParts, readCharts, readDiagrams, readParagraphs, section, type OfficeFiles } from './office-parts.ts';

/**
 * A Word document with its headings, lists, tables and links, then its headers, footers, comments, diagrams and charts. Pictures and
 * embedded documents are left out; nothing it links to is opened.
 */
export async function parseDocx(bytes: Uint8Array): Promise<Extracted> {
  const files = await readZip(bytes); // the limits of archives hold before the library inflates it
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const convertImage = mammoth.images.imgElement(async () => ({ src: '' }));
  const { value } = await mammoth.convertToHtml({ buffer }, { convertImage, externalFileAccess: false });
  const converted = htmlToMarkdown(parseHtmlText(value).body);
  // The library knows no phonetic guides (ruby) and some other frames; their text is better than none.
  const body =
    converted === ''
      ? parseParts(files, /^word\/document\.xml$/)
          .flatMap(readParagraphs)
          .join('\n\n')
      : converted;
  const parts = [
    ...section('Headers', readDistinct(files, /^word\/header\d*\.xml$/)),
    ...section('Footers', readDistinct(files, /^word\/footer\d*\.xml$/)),
    ...section('Comments', readComments(files)),
    ...section('Diagrams', readDiagrams(files)),
    ...section('Charts', readCharts(files)),
  ];
  return { text: [body, ...parts].filter((part) => part !== '').join('\n\n') };
}

/** Each paragraph once: a document has a header for each kind of page. */
function readDistinct(files: OfficeFiles, pattern: RegExp): string[] {
  return [...new Set(parseParts(files, pattern).flatMap(readParagraphs))];
}

function readComments(files: OfficeFiles): string[] {
  const comments = parseParts(files, /^word\/comments\.xml$/).flatMap((root) => findAll(root, 'comment'));
  return comments.map((comment) => {
    const author = comment.getAttribute?.('w:author') ?? '';
    const text = readParagraphs(comment).join(' ');
    return author === '' ? text : `${author}: ${text}`;
  });
}

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { getDocument, PasswordException, VerbosityLevel } from 'pdfjs-dist/legacy/build/pdf.mjs';
import type { Extracted } from '../protocol/extracted.ts';
import { DocumentRefusal, type ParseRequest } from '../protocol/protocol.ts';

const PACKAGE = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));
/** Share of the font size that separates two words on a line. */
const WORD_GAP = 0.18;
const LINE_GAP = 0.5;
const PARAGRAPH_GAP = 1.8;

interface TextItem {
  str: string;
  width: number;
  height: number;
  transform: number[];
  hasEOL: boolean;
}

interface Annotation {
  fieldName?: string;
  fieldValue?: unknown;
  contentsObj?: { str?: string };
  hidden?: boolean;
  password?: boolean;
}

/** The text of the first pages, each with its mark. Nothing in the document is executed or opened. */
export async function parsePdf(bytes: Uint8Array<ArrayBuffer>, { maxPages, maxChars }: ParseRequest): Promise<Extracted> {
  const loading = getDocument({
    data: bytes,
    cMapUrl: `${join(PACKAGE, 'cmaps')}/`,
    cMapPacked: true,
    standardFontDataUrl: `${join(PACKAGE, 'standard_fonts')}/`,
    disableFontFace: true,
    useSystemFonts: false,
    enableXfa: false,
    verbosity: VerbosityLevel.ERRORS,
  });
  const document = await loading.promise.catch((error: unknown) => {
    if (error instanceof PasswordException) throw new DocumentRefusal('encrypted', 'the document is protected by a password');
    throw error;
  });
  const pages: string[] = [];
  let chars = 0;
  const pageCount = document.numPages;
  const readPages = Math.min(pageCount, maxPages);
  for (let number = 1; number <= readPages && chars <= maxChars; number++) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const notes = readAnnotations(await page.getAnnotations());
    const text = [joinItems(items.filter((item) => 'str' in item)), ...notes].filter((part) => part !== '').join('\n\n');
    chars += text.length;
    if (text !== '') pages.push(`[page ${number}]\n\n${text}`);
    page.cleanup();
  }
  await loading.destroy();
  const isScan = pages.length === 0 && pageCount > 0;
  return { text: pages.join('\n\n'), pageCount, truncated: pageCount > readPages, ...(isScan && { notice: 'scanned' as const }) };
}

/** Values of form fields and texts of notes, which a viewer shows on the page. Passwords are left out. */
function readAnnotations(annotations: readonly Annotation[]): string[] {
  return annotations.flatMap(({ fieldName, fieldValue, contentsObj, hidden, password }) => {
    if (hidden === true || password === true) return [];
    const value = [fieldValue].flat().filter((one): one is string => typeof one === 'string' && one !== '' && one !== 'Off');
    const field = value.length === 0 ? [] : [fieldName ? `${fieldName}: ${value.join(', ')}` : value.join(', ')];
    const note = (contentsObj?.str ?? '').trim();
    return note === '' ? field : [...field, note];
  });
}

/** Joins the pieces of a page in the order of the document. Their places separate words, lines and paragraphs. */
function joinItems(items: readonly TextItem[]): string {
  let text = '';
  let last: TextItem | undefined;
  for (const item of items) {
    if (last !== undefined && item.str !== '') text += separate(last, item, text);
    text += item.str;
    if (item.hasEOL && !text.endsWith('\n')) text += '\n';
    if (item.str !== '') last = item;
  }
  return text
    .replaceAll(/[ \t]+\n/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

function separate(last: TextItem, item: TextItem, text: string): string {
  const [, , , , lastX = 0, lastY = 0] = last.transform;
  const [, , , , x = 0, y = 0] = item.transform;
  const size = Math.max(item.height, last.height, 1);
  const drop = Math.abs(y - lastY);
  if (drop > size * LINE_GAP) {
    const missing = drop > size * PARAGRAPH_GAP ? '\n\n' : '\n';
    return text.endsWith(missing) ? '' : text.endsWith('\n') ? missing.slice(1) : missing;
  }
  return x - (lastX + last.width) > size * WORD_GAP && !/\s$/.test(text) && !item.str.startsWith(' ') ? ' ' : '';
}

import { detectType, TEXT_TYPES } from './detect-type.ts';
import type { Extracted } from './protocol/extracted.ts';
import { DocumentRefusal, type ParsedDocument, type ParseRequest } from './protocol/protocol.ts';
import { cutAtWord } from './text/cut-text.ts';
import { decodeText } from './text/decode-text.ts';

type Parser = (bytes: Uint8Array<ArrayBuffer>, request: ParseRequest) => Promise<Extracted> | Extracted;

const WORD = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const SHEET = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const SLIDES = 'application/vnd.openxmlformats-officedocument.presentationml.presentation';

/** An office document with a password is a stream of this name in a compound file. */
const COMPOUND_FILE = 'application/x-cfb';
const ENCRYPTED_PACKAGE = Buffer.from('EncryptedPackage', 'utf16le');
/** A place where a word may be broken. At the end of a line it is broken there. */
const SOFT_HYPHEN = /\u00AD\n?/g;

/** Libraries are loaded with the first document that needs them: the process parses a single one. */
const PARSERS: Readonly<Record<string, () => Promise<Parser>>> = {
  'application/pdf': async () => (await import('./formats/pdf.ts')).parsePdf,
  [WORD]: async () => (await import('./formats/docx.ts')).parseDocx,
  [SHEET]: async () => (await import('./formats/sheets.ts')).parseSheets,
  'application/vnd.oasis.opendocument.spreadsheet': async () => (await import('./formats/sheets.ts')).parseSheets,
  [SLIDES]: async () => (await import('./formats/pptx.ts')).parsePptx,
  'application/vnd.oasis.opendocument.text': async () => (await import('./formats/odf.ts')).parseOdf,
  'application/vnd.oasis.opendocument.presentation': async () => (await import('./formats/odf.ts')).parseOdf,
  'application/epub+zip': async () => (await import('./formats/epub.ts')).parseEpub,
  'message/rfc822': async () => (await import('./formats/mail.ts')).parseMail,
  'text/html': async () => (await import('./formats/html.ts')).parseHtml,
  'image/svg+xml': async () => (await import('./formats/svg.ts')).parseSvg,
};

export async function parseDocument(bytes: Uint8Array<ArrayBuffer>, request: ParseRequest): Promise<ParsedDocument> {
  if (bytes.length === 0) throw new DocumentRefusal('empty', 'the document is empty: expected at least one byte');
  const mimeType = await detectType(bytes, request.charset);
  const load = Object.hasOwn(PARSERS, mimeType) ? PARSERS[mimeType] : undefined;
  if (load === undefined && !TEXT_TYPES.has(mimeType)) {
    // An office document whose end is missing looks like any other archive; reading it names the damage.
    if (mimeType === 'application/zip') await (await import('./text/zip.ts')).readZip(bytes);
    if (mimeType === COMPOUND_FILE && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(ENCRYPTED_PACKAGE))
      throw new DocumentRefusal('encrypted', 'the document is protected by a password');
    throw new DocumentRefusal('unsupported', `documents of type ${mimeType} are not supported`);
  }
  if (!request.allowedTypes.includes(mimeType)) {
    throw new DocumentRefusal(
      'not_allowed',
      `documents of type ${mimeType} are not allowed: media.documentExtraction.allowedMimes lists others`,
    );
  }
  const extracted = load === undefined ? { text: decodeText(bytes, request.charset) } : await (await load())(bytes, request);
  const readable = load === undefined ? extracted.text : extracted.text.replaceAll(SOFT_HYPHEN, '');
  const { text, truncated } = cutAtWord(readable.replaceAll('\0', '').trim(), request.maxChars);
  const { pageCount, notice, title } = extracted;
  return {
    mimeType,
    text,
    truncated: truncated || extracted.truncated === true,
    ...(pageCount === undefined ? {} : { pageCount }),
    ...(notice === undefined ? {} : { notice }),
    ...(title === undefined ? {} : { title }),
  };
}

import mammoth from 'mammoth';
import type { Extracted } from '../protocol/extracted.ts';
import { htmlToMarkdown, parseHtmlText } from '../text/html-to-markdown.ts';
import { readZip } from '../text/zip.ts';

/** A Word document with its headings, lists, tables and links. Pictures are left out; nothing it links to is opened. */
export async function parseDocx(bytes: Uint8Array): Promise<Extracted> {
  await readZip(bytes); // the limits of archives hold before the library inflates it
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const convertImage = mammoth.images.imgElement(async () => ({ src: '' }));
  const { value } = await mammoth.convertToHtml({ buffer }, { convertImage, externalFileAccess: false });
  return { text: htmlToMarkdown(parseHtmlText(value).body) };
}

import { posix } from 'node:path';
import type { Extracted } from '../protocol/extracted.ts';
import { DocumentRefusal } from '../protocol/protocol.ts';
import { decodeText } from '../text/decode-text.ts';
import { htmlToMarkdown, parseHtmlText } from '../text/html-to-markdown.ts';
import { findAll, parseXml, type XmlNode } from '../text/xml.ts';
import { readZip } from '../text/zip.ts';

/** The chapters of a book in reading order. */
export async function parseEpub(bytes: Uint8Array): Promise<Extracted> {
  const files = await readZip(bytes);
  if (files.has('META-INF/encryption.xml') && /EncryptedData[\s\S]*x?html/i.test(files.get('META-INF/encryption.xml')?.toString() ?? '')) {
    throw new DocumentRefusal('encrypted', 'the book is encrypted');
  }
  const container = files.get('META-INF/container.xml');
  const [rootFile] = container === undefined ? [] : findAll(parse(container), 'rootfile');
  const packagePath = rootFile?.getAttribute?.('full-path') ?? '';
  const opf = files.get(packagePath);
  if (opf === undefined) throw new DocumentRefusal('damaged', 'the book has no package document');
  const root = parse(opf);
  const paths = new Map(findAll(root, 'item').map((item) => [item.getAttribute?.('id') ?? '', item.getAttribute?.('href') ?? '']));
  const chapters = findAll(root, 'itemref').flatMap((reference) => {
    const href = paths.get(reference.getAttribute?.('idref') ?? '') ?? '';
    const file = files.get(posix.join(posix.dirname(packagePath), safeDecode(href.split('#')[0] ?? '')));
    return file === undefined ? [] : [htmlToMarkdown(parseHtmlText(decodeText(file).replace(/^<\?xml[^>]*>/, '')).body)];
  });
  const title = findAll(root, 'title')[0]?.textContent?.trim();
  return { text: chapters.filter((text) => text !== '').join('\n\n'), pageCount: chapters.length, ...(title ? { title } : {}) };
}

function parse(bytes: Buffer): XmlNode {
  return parseXml(bytes);
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

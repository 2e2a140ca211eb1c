import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { getDocument, PasswordException, VerbosityLevel } from 'pdfjs-dist/legacy/build/pdf.mjs';
import type { Extracted } from '../protocol/extracted.ts';
import { DocumentRefusal, type ParseRequest } from '../protocol/protocol.ts';
import { readAnnotations } from './pdf-annotations.ts';
import { joinItems } from './pdf-lines.ts';

const PACKAGE = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));

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
    const lines = joinItems(items.filter((item) => 'str' in item));
    const text = [lines, ...readAnnotations(await page.getAnnotations(), lines)].filter((part) => part !== '').join('\n\n');
    chars += text.length;
    if (text !== '') pages.push(`[page ${number}]\n\n${text}`);
    page.cleanup();
  }
  await loading.destroy();
  const isScan = pages.length === 0 && pageCount > 0;
  return { text: pages.join('\n\n'), pageCount, truncated: pageCount > readPages, ...(isScan && { notice: 'scanned' as const }) };
}

import type { Ctx } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { reportInjection } from '../links/report-injection.ts';
import { wrapExternalContent } from '../links/external-content.ts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { fileTooLarge } from '../sources/file-too-large.ts';
import type { SourceFile } from '../sources/source-file.ts';

export interface ExtractedDocument {
  text: string;
  fileName?: string;
  mimeType: string;
  extractedChars: number;
  truncated: boolean;
  durationMs: number;
  pageCount?: number;
  notice?: 'scanned';
}

/** Maximum size of a document by the settings. */
export function maxDocumentBytes({ settings }: Pick<MediaDeps, 'settings'>): number {
  return settings.current.media.documentExtraction.maxBytes;
}

/** Extracts the text of a document in a child process, as external content. */
export async function extractDocument(deps: MediaDeps, file: SourceFile, ctx: Ctx): Promise<ExtractedDocument> {
  const { enabled, maxBytes, maxChars, maxPages, timeoutMs, allowedMimes } = deps.settings.current.media.documentExtraction;
  if (!enabled) {
    const message = 'document extraction is switched off: set media.documentExtraction.enabled to true';
    throw new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'DOCUMENTS_DISABLED' } });
  }
  if (file.bytes.length > maxBytes) throw fileTooLarge(file.bytes.length, maxBytes);
  const startedAt = performance.now();
  const { tenant } = ctx.principal;
  const limits = { maxChars, maxPages, allowedTypes: allowedMimes };
  const document = await deps.parser.parse(file.bytes, {
    tenant,
    signal: ctx.signal,
    timeoutMs,
    mode: 'document',
    ...limits,
    ...(file.charset === undefined ? {} : { charset: file.charset }),
    ...(file.url === undefined ? {} : { url: file.url }),
  });
  const { text, mimeType, truncated, pageCount, notice } = document;
  if (text !== '') reportInjection(text, ctx);
  return {
    text: text === '' ? '' : wrapExternalContent(text, file.fileName ?? 'document'),
    ...(file.fileName === undefined ? {} : { fileName: file.fileName }),
    mimeType,
    extractedChars: text.length,
    truncated,
    durationMs: Math.round(performance.now() - startedAt),
    ...(pageCount === undefined ? {} : { pageCount }),
    ...(notice === undefined ? {} : { notice }),
  };
}

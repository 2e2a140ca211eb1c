import type { Handler } from '@switchyard/bus';
import { extractDocument, maxDocumentBytes } from '../documents/extract-document.ts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { readAttachment } from './read-attachment.ts';

export function mediaExtractDocument(deps: MediaDeps): Handler<'media.extract_document'> {
  return async ({ attachment_url: address }, ctx) =>
    extractDocument(deps, await readAttachment(deps, address, { ctx, maxBytes: maxDocumentBytes(deps) }), ctx);
}

import type { Handler } from '@switchyard/bus';
import { extractDocument, maxDocumentBytes } from '../documents/extract-document.ts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { readWorkspaceFile } from '../sources/workspace-file.ts';

export function mediaTestDocument(deps: MediaDeps): Handler<'media.test.document'> {
  return async ({ file_path: path }, ctx) => {
    const options = { principal: ctx.principal, signal: ctx.signal, maxBytes: maxDocumentBytes(deps) };
    return extractDocument(deps, await readWorkspaceFile(deps.bus, path, options), ctx);
  };
}

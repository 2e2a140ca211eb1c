import type { Ctx, Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { extractDocument, maxDocumentBytes } from '../documents/extract-document.ts';
import { decodeBase64 } from '../sources/base64.ts';
import type { SourceFile } from '../sources/source-file.ts';
import { readWorkspaceFile } from '../sources/workspace-file.ts';

/** Extracts a file of the workspace, or the given bytes under its name. */
export function mediaTestDocument(deps: MediaDeps): Handler<'media.test.document'> {
  return async ({ file_path: path, content }, ctx) => extractDocument(deps, await readDocument(deps, { path, content }, ctx), ctx);
}

async function readDocument(
  deps: MediaDeps,
  { path, content }: { path: string; content: string | undefined },
  ctx: Ctx,
): Promise<SourceFile> {
  if (content === undefined) {
    return readWorkspaceFile(deps.bus, path, { principal: ctx.principal, signal: ctx.signal, maxBytes: maxDocumentBytes(deps) });
  }
  const bytes = decodeBase64(content);
  if (bytes === undefined) throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: content: expected base64, got other text');
  return { bytes, fileName: path.split('/').at(-1) ?? path };
}

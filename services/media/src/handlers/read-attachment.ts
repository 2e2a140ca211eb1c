import type { Ctx } from '@switchyard/bus';
import type { MediaDeps } from '../deps/media-deps.ts';
import type { SourceFile } from '../sources/source-file.ts';

/** Time for the download of an attachment. */
const FETCH_TIMEOUT_MS = 30_000;

/** Reads an attachment of a call. The limit of the method and the limit of downloads both apply. */
export async function readAttachment(
  deps: MediaDeps,
  address: string,
  { ctx, maxBytes }: { ctx: Ctx; maxBytes: number },
): Promise<SourceFile> {
  const { infrastructure, linkUnderstanding } = deps.settings.current.media;
  return deps.attachments.read(address, {
    principal: ctx.principal,
    signal: ctx.signal,
    maxBytes: Math.min(maxBytes, infrastructure.maxRemoteFetchBytes),
    timeoutMs: FETCH_TIMEOUT_MS,
    userAgent: linkUnderstanding.userAgentString,
  });
}

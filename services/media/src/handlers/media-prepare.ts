import type { Ctx, Handler } from '@switchyard/bus';
import { ServiceError, type BlobRef } from '@switchyard/contracts';
import { extractDocument } from '../documents/extract-document.ts';
import { prepareImage } from '../images/prepare-image.ts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { cutAtWord } from '../parsers/text/cut-text.ts';
import { readStoredFile } from '../sources/stored-file.ts';
import type { SourceFile } from '../sources/source-file.ts';
import { detectMedia } from '../transcription/detect-audio.ts';
import { transcribe } from '../transcription/transcribe.ts';
import { denyByScope, describe, requireDescriber } from '../vision/describe.ts';

/** Notice of a document of pictures. */
const SCANNED = 'the document is a scan: its pages are pictures without text';

interface Prepared {
  kind: 'audio' | 'image' | 'video' | 'document' | 'other';
  text: string;
  notice?: string;
}

/** Turns each attachment into text. An attachment that fails has a notice and delays no other. */
export function mediaPrepare(deps: MediaDeps): Handler<'media.prepare'> {
  return async ({ attachments }, ctx) => {
    let remaining = deps.settings.current.media.documentExtraction.maxTotalChars;
    const prepared = await Promise.all(attachments.map((attachment) => prepareOne(deps, attachment, ctx)));
    const parts = prepared.map((part) => {
      const { text } = cutAtWord(part.text, Math.max(0, remaining));
      remaining -= text.length;
      return text.length < part.text.length ? { ...part, text, notice: 'the attachments have more text than one message may have' } : part;
    });
    return { parts };
  };
}

async function prepareOne(deps: MediaDeps, { blob, name }: { blob: BlobRef; name?: string | undefined }, ctx: Ctx): Promise<Prepared> {
  let kind: Prepared['kind'] = 'other';
  try {
    const { maxRemoteFetchBytes: maxBytes } = deps.settings.current.media.infrastructure;
    const file = await readStoredFile(await deps.blobs(), blob.id, { principal: ctx.principal, signal: ctx.signal, maxBytes });
    const detected = await detectMedia(file.bytes);
    kind = detected.kind === 'other' ? 'document' : detected.kind;
    return { kind, ...(await toText(deps, { ...file, ...(name === undefined ? {} : { fileName: name }) }, { ...detected, ctx })) };
  } catch (error) {
    if (ctx.signal.aborted || !(error instanceof ServiceError)) throw error;
    const isUnsupported = error.details.reason === 'DOCUMENT_TYPE_UNSUPPORTED';
    return { kind: isUnsupported ? 'other' : kind, text: '', notice: error.message };
  }
}

async function toText(
  deps: MediaDeps,
  file: SourceFile,
  { kind, mimeType, ctx }: { kind: 'audio' | 'image' | 'video' | 'other'; mimeType: string; ctx: Ctx },
): Promise<Pick<Prepared, 'text' | 'notice'>> {
  if (kind === 'audio') return { text: (await transcribe(deps, { bytes: file.bytes }, ctx)).text };
  if (kind === 'other') {
    const { text, notice } = await extractDocument(deps, file, ctx);
    return { text, ...(notice === 'scanned' && { notice: SCANNED }) };
  }
  const describer = await requireDescriber(deps, kind);
  const denied = denyByScope(deps, ctx, describer);
  if (denied !== undefined) return { text: denied.description };
  const visual = kind === 'image' ? await prepareImage(file.bytes, ctx.signal) : { kind, bytes: file.bytes, mimeType };
  return { text: (await describe(deps, visual, { ctx, describer })).description };
}

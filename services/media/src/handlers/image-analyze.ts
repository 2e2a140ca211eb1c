import type { Ctx, Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { prepareImage } from '../images/prepare-image.ts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { decodeBase64 } from '../sources/base64.ts';
import { fileTooLarge } from '../sources/file-too-large.ts';
import { readAttachment } from './read-attachment.ts';
import { readWorkspaceFile } from '../sources/workspace-file.ts';
import { denyByScope, describe, requireDescriber } from '../vision/describe.ts';

const MIB = 1_048_576;

export function imageAnalyze(deps: MediaDeps): Handler<'image.analyze'> {
  return async ({ source, source_type: type, prompt }, ctx) => {
    const describer = await requireDescriber(deps, 'image');
    const denied = denyByScope(deps, ctx, describer);
    const {
      description,
      provider,
      modelId: model,
    } = denied ??
    (await describe(deps, await prepareImage(await readSource(deps, { source, type, ctx }), ctx.signal), { ctx, describer, prompt }));
    return { description, provider, model };
  };
}

/** Maximum size of an image: the smaller of both settings. */
export function maxImageBytes({ settings }: Pick<MediaDeps, 'settings'>): number {
  const { imageAnalysis, vision } = settings.current.media;
  return Math.floor(Math.min(imageAnalysis.maxFileSizeMb, vision.imageMaxFileSizeMb) * MIB);
}

interface SourceOptions {
  source: string;
  type: 'file' | 'url' | 'base64' | 'attachment';
  ctx: Ctx;
}

async function readSource(deps: MediaDeps, { source, type, ctx }: SourceOptions): Promise<Uint8Array<ArrayBuffer>> {
  const maxBytes = maxImageBytes(deps);
  if (type === 'base64') return decodeImage(source, maxBytes);
  if (type === 'file') {
    return (await readWorkspaceFile(deps.bus, source, { principal: ctx.principal, signal: ctx.signal, maxBytes })).bytes;
  }
  return (await readAttachment(deps, source, { ctx, maxBytes })).bytes;
}

/** Decodes base64 of an image, with or without the head of a data URL. */
export function decodeImage(text: string, maxBytes: number): Uint8Array<ArrayBuffer> {
  const bytes = decodeBase64(text.replace(/^data:[\w.+-]+\/[\w.+-]+;base64,/, ''));
  if (bytes === undefined) throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: source: expected base64, got other text');
  if (bytes.length > maxBytes) throw fileTooLarge(bytes.length, maxBytes);
  return bytes;
}

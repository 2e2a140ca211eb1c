import type { Ctx } from '@switchyard/bus';
import type { MediaDeps } from '../deps/media-deps.ts';
import { listTranscribers } from '../providers/configured-providers.ts';
import { askInOrder, type Candidate } from '../providers/provider-chain.ts';
import { fileTooLarge } from '../sources/file-too-large.ts';
import { requireAudio } from './detect-audio.ts';

const MIB = 1_048_576;

export interface Transcript {
  text: string;
  language?: string | undefined;
  durationMs?: number | undefined;
}

/** Maximum size of a sound file by the settings. */
export function maxAudioBytes({ settings }: Pick<MediaDeps, 'settings'>): number {
  return Math.floor(settings.current.media.transcription.maxFileSizeMb * MIB);
}

/** Transcribes speech with the first provider that answers. The same bytes are transcribed once a day. */
export async function transcribe(
  deps: MediaDeps,
  { bytes, language }: { bytes: Uint8Array<ArrayBuffer>; language?: string | undefined },
  ctx: Pick<Ctx, 'principal' | 'signal'>,
): Promise<Transcript & Candidate> {
  const maxBytes = maxAudioBytes(deps);
  if (bytes.length > maxBytes) throw fileTooLarge(bytes.length, maxBytes);
  const mimeType = await requireAudio(bytes);
  const { timeoutMs, language: configured } = deps.settings.current.media.transcription;
  const wanted = language ?? configured;
  const candidates = await listTranscribers(deps);
  const key = ['transcription', ...candidates.map(({ provider, modelId }) => `${provider}/${modelId}`), wanted, bytes];
  return deps.answers.remember(ctx.principal, key, () =>
    askInOrder<Transcript>('transcription', candidates, {
      signal: ctx.signal,
      ask: (model) =>
        deps.media.transcribe({
          model,
          audio: bytes,
          mimeType,
          signal: ctx.signal,
          timeoutMs,
          ...(wanted === undefined ? {} : { language: wanted }),
        }),
    }),
  );
}

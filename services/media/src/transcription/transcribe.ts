import type { Ctx } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { hasFfmpeg, NO_FFMPEG } from '../conversion/ffmpeg.ts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { listTranscribers } from '../providers/configured-providers.ts';
import { askInOrder, type Candidate } from '../providers/provider-chain.ts';
import { callRecorded } from '../providers/record-usage.ts';
import { fileTooLarge } from '../sources/file-too-large.ts';
import { requireAudio } from './detect-audio.ts';
import { MAX_CALL_SECONDS, takesAudio } from './provider-audio.ts';
import { measureAudio, planCuts, splitAudio, toSpeechWav } from './split-audio.ts';

const MIB = 1_048_576;
/** At 16 kbit/s, the least of usual voice notes, a smaller sound fits one call. It is not measured. */
const SHORT_BYTES = MAX_CALL_SECONDS * 2_000;

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
      ask: async (model) => {
        const parts = await toProviderAudio({ bytes, mimeType }, model.provider, ctx.signal);
        const transcripts: Transcript[] = [];
        for (const part of parts) {
          const request = { model, audio: part.bytes, mimeType: part.mimeType, signal: ctx.signal, timeoutMs };
          const call = () => deps.media.transcribe({ ...request, ...(wanted === undefined ? {} : { language: wanted }) });
          transcripts.push(await callRecorded(deps.usage, { purpose: 'transcription', model, principal: ctx.principal, call }));
        }
        return joinTranscripts(transcripts);
      },
    }),
  );
}

interface Sound {
  bytes: Uint8Array<ArrayBuffer>;
  mimeType: string;
}

/** Converts a sound that the provider does not take, and cuts one that is longer than one call may be. */
async function toProviderAudio(sound: Sound, provider: string, signal: AbortSignal): Promise<Sound[]> {
  const isTaken = takesAudio(provider, sound.mimeType);
  if (!hasFfmpeg()) {
    if (isTaken) return [sound]; // a sound that is too long is refused by the provider
    const message = `provider ${provider} does not take ${sound.mimeType}, and converting it needs ffmpeg. ${NO_FFMPEG}`;
    throw new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'FFMPEG_NOT_INSTALLED' } });
  }
  const isShort = provider === 'dev' || sound.bytes.length < SHORT_BYTES;
  if (isTaken && isShort) return [sound];
  const cuts = isShort ? [] : planCuts(await measureAudio(sound.bytes, signal), MAX_CALL_SECONDS);
  if (cuts.length === 0) return isTaken ? [sound] : [{ bytes: await toSpeechWav(sound.bytes, signal), mimeType: 'audio/wav' }];
  return (await splitAudio(sound.bytes, cuts, signal)).map((bytes) => ({ bytes, mimeType: 'audio/wav' }));
}

function joinTranscripts(parts: readonly Transcript[]): Transcript {
  const [first] = parts;
  if (first === undefined || parts.length === 1) return first ?? { text: '' };
  const durations = parts.map(({ durationMs }) => durationMs).filter((durationMs) => durationMs !== undefined);
  return {
    text: parts
      .map(({ text }) => text.trim())
      .filter((text) => text !== '')
      .join(' '),
    ...(first.language === undefined ? {} : { language: first.language }),
    ...(durations.length < parts.length ? {} : { durationMs: durations.reduce((sum, one) => sum + one, 0) }),
  };
}

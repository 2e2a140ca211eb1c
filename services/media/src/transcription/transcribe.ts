import type { Ctx } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { hasFfmpeg, NO_FFMPEG } from '../conversion/ffmpeg.ts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { listTranscribers } from '../providers/configured-providers.ts';
import { askInOrder, type Candidate } from '../providers/provider-chain.ts';
import { callRecorded, readUsage } from '../providers/record-usage.ts';
import { fileTooLarge } from '../sources/file-too-large.ts';
import { requireAudio } from './detect-audio.ts';
import { readHeaderSeconds } from './header-duration.ts';
import { MAX_AUDIO_SECONDS, MAX_CALL_SECONDS, MAX_WAV_SECONDS, takesAudio } from './provider-audio.ts';
import { measureAudio, planCuts, splitAudio, toSpeechWav } from './split-audio.ts';

const MIB = 1_048_576;
/** Bytes of a second of silence in the formats that need the fewest, and in MP3. A smaller sound fits one call and is not measured. */
const MIN_BYTES_PER_SECOND = 50;
const MIN_MP3_BYTES_PER_SECOND = 1_000;

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
  return deps.answers.remember(ctx, key, () =>
    askInOrder<Transcript>('transcription', candidates, {
      signal: ctx.signal,
      ask: async (model) => {
        const transcripts: Transcript[] = [];
        for await (const part of toProviderAudio({ bytes, mimeType }, model.provider, ctx.signal)) {
          const request = { model, audio: part.bytes, mimeType: part.mimeType, signal: ctx.signal, timeoutMs };
          const call = () => deps.media.transcribe({ ...request, ...(wanted === undefined ? {} : { language: wanted }) });
          const record = { purpose: 'transcription', model, principal: ctx.principal, call, readUsage } as const;
          const { usage: _, ...transcript } = await callRecorded(deps.usage, record);
          transcripts.push(transcript);
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
async function* toProviderAudio(sound: Sound, provider: string, signal: AbortSignal): AsyncGenerator<Sound, void> {
  const { bytes, mimeType } = sound;
  const isTaken = takesAudio(provider, mimeType);
  const known = readHeaderSeconds(bytes);
  if (known !== undefined && known > MAX_AUDIO_SECONDS) throw tooLong();
  if (!hasFfmpeg() && !isTaken) {
    const message = `provider ${provider} does not take ${mimeType}, and converting it needs ffmpeg. ${NO_FFMPEG}`;
    throw new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'FFMPEG_NOT_INSTALLED' } });
  }
  const maxSeconds = isTaken ? MAX_CALL_SECONDS : MAX_WAV_SECONDS;
  const minBytes = mimeType === 'audio/mpeg' ? MIN_MP3_BYTES_PER_SECOND : MIN_BYTES_PER_SECOND;
  // Without ffmpeg a sound that is too long is refused by the provider.
  const isShort = provider === 'dev' || !hasFfmpeg() || (known ?? bytes.length / minBytes) <= maxSeconds;
  const shape = isShort ? { seconds: 0, pauses: [] } : await measureAudio(bytes, MAX_AUDIO_SECONDS + 1, signal);
  if (shape.seconds > MAX_AUDIO_SECONDS) throw tooLong();
  if (shape.seconds > maxSeconds) {
    const parts = splitAudio(bytes, planCuts(shape, MAX_CALL_SECONDS), signal);
    for await (const part of parts) yield { bytes: part, mimeType: 'audio/ogg' };
  } else yield isTaken ? sound : { bytes: await toSpeechWav(bytes, signal), mimeType: 'audio/wav' };
}

function tooLong(): ServiceError {
  const message = `the audio is longer than ${MAX_AUDIO_SECONDS / 3_600} hours: cut it and send the parts`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'AUDIO_TOO_LONG' } });
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

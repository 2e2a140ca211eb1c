import { analyzeAudio, convertAudio } from '../conversion/ffmpeg.ts';

/** Silence of speech pauses: quieter than -35 dB for 0.4 seconds. */
const SILENCE_FILTER = 'silencedetect=noise=-35dB:d=0.4';
/** Share of a part that is searched for a pause before its end. */
const SEARCHED_SHARE = 0.3;
const SAMPLE_RATE = 16_000;
const WAV_ENCODER = ['-ac', '1', '-ar', String(SAMPLE_RATE), '-c:a', 'pcm_s16le', '-f', 'wav'];
/** Providers take files of 25 MB at most. A part of 20 minutes has 5 MB, and 38 MB as WAV. */
const PART_ENCODER = ['-ac', '1', '-ar', String(SAMPLE_RATE), '-c:a', 'libopus', '-b:a', '32k', '-application', 'voip', '-f', 'ogg'];

/** Converts any sound to a WAV file as speech models use it. */
export async function toSpeechWav(bytes: Uint8Array, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  return convertAudio(bytes, { output: WAV_ENCODER, signal });
}

/** Duration of a sound, and the middles of its pauses, in seconds. */
export interface AudioShape {
  seconds: number;
  pauses: readonly number[];
}

/** Measures a sound by decoding it, because headers can be wrong. Decoding stops after `maxSeconds`. */
export async function measureAudio(bytes: Uint8Array, maxSeconds: number, signal: AbortSignal): Promise<AudioShape> {
  const report = await analyzeAudio(bytes, { filter: SILENCE_FILTER, maxSeconds, signal });
  const times = [...report.matchAll(/time=(\d+):(\d+):([\d.]+)/g)].at(-1);
  const seconds = times === undefined ? 0 : Number(times[1]) * 3_600 + Number(times[2]) * 60 + Number(times[3]);
  const pauses = [...report.matchAll(/silence_end: ([\d.]+) \| silence_duration: ([\d.]+)/g)].map(
    ([, end, length]) => Number(end) - Number(length) / 2,
  );
  return { seconds, pauses };
}

/** Chooses where to cut: at the last pause of each part, else at its longest length. */
export function planCuts({ seconds, pauses }: AudioShape, maxSeconds: number): number[] {
  const cuts: number[] = [];
  for (let from = 0; seconds - from > maxSeconds;) {
    const end = from + maxSeconds;
    const cut = pauses.findLast((at) => at <= end && at > end - maxSeconds * SEARCHED_SHARE) ?? end;
    cuts.push(cut);
    from = cut;
  }
  return cuts;
}

/** Cuts a sound into Ogg files at these seconds, one after the other, so that only one is in memory. */
export async function* splitAudio(
  bytes: Uint8Array,
  cuts: readonly number[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  for (const [at, from] of [0, ...cuts].entries()) {
    const to = cuts[at];
    const range = ['-ss', String(from), ...(to === undefined ? [] : ['-to', String(to)])];
    yield await convertAudio(bytes, { output: [...range, ...PART_ENCODER], signal });
  }
}

import { analyzeAudio, convertAudio } from '../conversion/ffmpeg.ts';

/** Silence of speech pauses: quieter than -35 dB for 0.4 seconds. */
const SILENCE_FILTER = 'silencedetect=noise=-35dB:d=0.4';
/** Share of a part that is searched for a pause before its end. */
const SEARCHED_SHARE = 0.3;
const SAMPLE_RATE = 16_000;
const ENCODER = ['-ac', '1', '-ar', String(SAMPLE_RATE), '-c:a', 'pcm_s16le', '-f', 'wav'];

/** Converts any sound to a WAV file as speech models use it. */
export async function toSpeechWav(bytes: Uint8Array, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  return convertAudio(bytes, { output: ENCODER, signal });
}

/** Duration of a sound, and the middles of its pauses, in seconds. */
export interface AudioShape {
  seconds: number;
  pauses: readonly number[];
}

/** Measures a sound by decoding it, because headers can be wrong. */
export async function measureAudio(bytes: Uint8Array, signal: AbortSignal): Promise<AudioShape> {
  const report = await analyzeAudio(bytes, { filter: SILENCE_FILTER, signal });
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

/** Cuts a sound into WAV files at these seconds. */
export async function splitAudio(bytes: Uint8Array, cuts: readonly number[], signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>[]> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (const [at, from] of [0, ...cuts].entries()) {
    const to = cuts[at];
    const range = ['-ss', String(from), ...(to === undefined ? [] : ['-to', String(to)])];
    parts.push(await convertAudio(bytes, { output: [...range, ...ENCODER], signal }));
  }
  return parts;
}

/** Types of sound that the providers of the OpenAI protocol take. */
const TAKEN: ReadonlySet<string> = new Set(['audio/flac', 'audio/mp4', 'audio/mpeg', 'audio/ogg', 'audio/wav', 'audio/webm', 'video/mp4']);

/** Whether a provider takes this type of sound unchanged. Deepgram and the development model detect the type themselves. */
export function takesAudio(provider: string, mimeType: string): boolean {
  return provider === 'deepgram' || provider === 'dev' || TAKEN.has(mimeType);
}

/** Longest sound of one call in seconds. */
export const MAX_CALL_SECONDS = 1_200;

/** Longest sound that is sent as WAV, of 19 MB. Providers take 25 MB at most. */
export const MAX_WAV_SECONDS = 600;

/** Longest sound of one request. It is cut into calls. */
export const MAX_AUDIO_SECONDS = 4 * 3_600;

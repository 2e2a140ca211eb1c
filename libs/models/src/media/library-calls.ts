import type { CallContext } from './call-context.ts';
import type { ProviderFetch } from './provider-fetch.ts';
import type {
  ImageAnswer,
  ImageRequest,
  SpeechAnswer,
  SpeechFormat,
  SpeechRequest,
  TranscriptionAnswer,
  TranscriptionRequest,
} from './media-models.ts';

/** Addresses that the libraries of these providers have built in. Requests to them go to the configured address. */
const BUILT_IN_URLS: Readonly<Record<string, string>> = {
  deepgram: 'https://api.deepgram.com',
  elevenlabs: 'https://api.elevenlabs.io',
  fal: 'https://fal.run',
};
/** A library refuses to start without a key, also for a server that needs none. */
const NO_KEY = 'none';
const MAX_ERROR_CHARS = 2_000;

/** Formats that ElevenLabs calls by names of their own. */
const ELEVENLABS_FORMATS: Partial<Record<SpeechFormat, string>> = { mp3: 'mp3', pcm: 'pcm_24000', opus: 'opus_48000_64' };

interface LibraryOptions {
  apiKey: string;
  headers: Record<string, string>;
  fetch: ProviderFetch;
}

function buildOptions({ provider, key, transport }: CallContext, timeoutMs: number): LibraryOptions {
  const { baseUrl, headers } = provider;
  const publishedUrl = BUILT_IN_URLS[provider.id] ?? baseUrl;
  const request = transport.createFetch({ publishedUrl, baseUrl, timeoutMs });
  return { apiKey: key ?? NO_KEY, headers: { ...headers }, fetch: request };
}

/** OpenAI, Groq, and every server that speaks the same protocol. */
async function openCompatible(context: CallContext, timeoutMs: number) {
  const { createOpenAI } = await import('@ai-sdk/openai');
  return createOpenAI({ ...buildOptions(context, timeoutMs), baseURL: context.provider.baseUrl.replace(/\/+$/, '') });
}

export async function transcribe(request: TranscriptionRequest, context: CallContext): Promise<TranscriptionAnswer> {
  const { model, audio, mimeType: mediaType, language, signal: abortSignal, timeoutMs } = request;
  const isDeepgram = context.provider.id === 'deepgram';
  const library = isDeepgram
    ? (await import('@ai-sdk/deepgram')).createDeepgram(buildOptions(context, timeoutMs))
    : await openCompatible(context, timeoutMs);
  const options = isDeepgram
    ? { deepgram: { smartFormat: true, ...(language === undefined ? { detectLanguage: true } : { language }) } }
    : { openai: language === undefined ? {} : { language: language.split('-')[0] ?? language } };
  const answer = await library.transcription(model.modelId).doGenerate({ audio, mediaType, abortSignal, providerOptions: options });
  return {
    text: answer.text,
    ...(answer.language === undefined ? {} : { language: answer.language }),
    ...(answer.durationInSeconds === undefined ? {} : { durationMs: Math.round(answer.durationInSeconds * 1_000) }),
  };
}

export async function synthesize(request: SpeechRequest, context: CallContext): Promise<SpeechAnswer> {
  const { model, text, voice, format, speed, signal: abortSignal, timeoutMs, providerOptions = {} } = request;
  const isElevenLabs = context.provider.id === 'elevenlabs';
  const produced = isElevenLabs && ELEVENLABS_FORMATS[format] === undefined ? 'mp3' : format;
  const library = isElevenLabs
    ? (await import('@ai-sdk/elevenlabs')).createElevenLabs(buildOptions(context, timeoutMs))
    : await openCompatible(context, timeoutMs);
  const answer = await library.speech(model.modelId).doGenerate({
    text,
    voice,
    outputFormat: isElevenLabs ? (ELEVENLABS_FORMATS[produced] ?? produced) : produced,
    ...(speed === undefined ? {} : { speed }),
    abortSignal,
    providerOptions: { [context.provider.id]: { ...providerOptions } },
  });
  return { audio: toBytes(answer.audio), format: produced };
}

export async function generateImage(request: ImageRequest, context: CallContext): Promise<ImageAnswer> {
  const { model, prompt, width, height, safetyChecker, signal: abortSignal, timeoutMs } = request;
  const isFal = context.provider.id === 'fal';
  const library = isFal
    ? (await import('@ai-sdk/fal')).createFal(buildOptions(context, timeoutMs))
    : await openCompatible(context, timeoutMs);
  const answer = await library.image(model.modelId).doGenerate({
    prompt,
    n: 1,
    size: `${width}x${height}`,
    aspectRatio: undefined,
    seed: undefined,
    files: undefined,
    mask: undefined,
    abortSignal,
    providerOptions: isFal ? { fal: { enableSafetyChecker: safetyChecker } } : {},
  });
  const [first] = answer.images;
  if (first === undefined) throw new TypeError(`the response has no image: ${JSON.stringify(answer.warnings).slice(0, MAX_ERROR_CHARS)}`);
  return { image: toBytes(first) };
}

function toBytes(data: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return typeof data === 'string' ? new Uint8Array(Buffer.from(data, 'base64')) : new Uint8Array(data);
}

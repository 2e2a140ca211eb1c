import { z } from 'zod';
import { ProtocolError } from '../errors/protocol-error.ts';
import type { CallContext } from './call-context.ts';
import type { BilledAmounts } from './media-prices.ts';
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
import { readWavDurationMs } from './wav.ts';

/** Addresses that the libraries of these providers have built in. Requests to them go to the configured address. */
const BUILT_IN_URLS: Readonly<Record<string, string>> = {
  deepgram: 'https://api.deepgram.com',
  elevenlabs: 'https://api.elevenlabs.io',
  fal: 'https://fal.run',
};
/** A library refuses to start without a key, also for a server that needs none. */
const NO_KEY = 'none';

const MEGAPIXEL = 1_000_000;
const TranscriptionTokens = z.object({
  output_tokens: z.int().nonnegative(),
  input_token_details: z.object({ text_tokens: z.int().nonnegative(), audio_tokens: z.int().nonnegative() }),
});

/** Formats that ElevenLabs calls by names of their own. */
const ELEVENLABS_FORMATS: Partial<Record<SpeechFormat, string>> = { mp3: 'mp3', pcm: 'pcm_24000', opus: 'opus_48000_64' };

/** An answer with the amounts that its provider bills. */
type Billed<T> = Omit<T, 'usage'> & { amounts: BilledAmounts };

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

export async function transcribe(request: TranscriptionRequest, context: CallContext): Promise<Billed<TranscriptionAnswer>> {
  const { model, audio, mimeType: mediaType, language, signal: abortSignal, timeoutMs } = request;
  const isDeepgram = context.provider.id === 'deepgram';
  const library = isDeepgram
    ? (await import('@ai-sdk/deepgram')).createDeepgram(buildOptions(context, timeoutMs))
    : await openCompatible(context, timeoutMs);
  const options = isDeepgram
    ? { deepgram: { smartFormat: true, ...(language === undefined ? { detectLanguage: true } : { language }) } }
    : { openai: language === undefined ? {} : { language: language.split('-')[0] ?? language } };
  const answer = await library.transcription(model.modelId).doGenerate({ audio, mediaType, abortSignal, providerOptions: options });
  if (isDeepgram && !hasDeepgramResults(answer.response.body)) throw new ProtocolError('sent a response without results');
  return {
    text: answer.text,
    ...(answer.language === undefined ? {} : { language: answer.language }),
    ...(answer.durationInSeconds === undefined ? {} : { durationMs: Math.round(answer.durationInSeconds * 1_000) }),
    amounts: { ...readSeconds(answer.durationInSeconds, audio), ...readTokens('usage' in answer ? answer.usage : undefined) },
  };
}

function readSeconds(reported: number | undefined, audio: Uint8Array): BilledAmounts {
  const durationMs = reported === undefined ? readWavDurationMs(audio) : reported * 1_000;
  return durationMs === undefined ? {} : { second: durationMs / 1_000 };
}

/** Reads the tokens of a transcription, which the library passes on as the provider reports them. */
function readTokens(usage: unknown): BilledAmounts {
  const parsed = TranscriptionTokens.safeParse(usage);
  if (!parsed.success) return {};
  const { output_tokens: outputToken, input_token_details: details } = parsed.data;
  return { textToken: details.text_tokens, audioToken: details.audio_tokens, outputToken };
}

export async function synthesize(request: SpeechRequest, context: CallContext): Promise<Billed<SpeechAnswer>> {
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
  const audio = toBytes(answer.audio);
  if (audio.length === 0) throw new ProtocolError('sent a response without sound');
  return { audio, format: produced, amounts: { character: Array.from(text).length } };
}

/** The library takes missing results for silence. */
function hasDeepgramResults(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'results' in body && body.results !== null;
}

export async function generateImage(request: ImageRequest, context: CallContext): Promise<Billed<ImageAnswer>> {
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
  if (first === undefined || first.length === 0) throw new ProtocolError('sent a response without an image');
  const { inputTokens, outputTokens } = answer.usage ?? {};
  return {
    image: toBytes(first),
    amounts: {
      megapixel: Math.ceil((width * height) / MEGAPIXEL), // rounded up, as fal bills it
      ...(inputTokens === undefined ? {} : { textToken: inputTokens }),
      ...(outputTokens === undefined ? {} : { outputToken: outputTokens }),
    },
  };
}

function toBytes(data: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return typeof data === 'string' ? new Uint8Array(Buffer.from(data, 'base64')) : new Uint8Array(data);
}

import type { MediaModels } from '@switchyard/models';
import type { MediaSettings } from '../deps/media-deps.ts';
import type { Candidate } from './provider-chain.ts';

const TRANSCRIPTION_MODELS = { openai: 'gpt-4o-mini-transcribe', groq: 'whisper-large-v3-turbo', deepgram: 'nova-3' } as const;
const SPEECH_MODELS = { openai: 'tts-1', elevenlabs: 'eleven_multilingual_v2' } as const;
const IMAGE_MODELS = { fal: 'fal-ai/flux/schnell', openai: 'gpt-image-2.6-flare' } as const;

/** The development models, which answer while no real provider of their kind is configured. */
export const DEV_TRANSCRIPTION: Candidate = { provider: 'dev', modelId: 'stt' };
export const DEV_SPEECH: Candidate = { provider: 'dev', modelId: 'tts' };
export const DEV_IMAGE: Candidate = { provider: 'dev', modelId: 'image' };

interface ProviderDeps {
  media: Pick<MediaModels, 'isAvailable'>;
  settings: MediaSettings;
}

/** The configured provider and its fallbacks, as far as they are available. */
export async function listTranscribers({ media, settings }: ProviderDeps): Promise<Candidate[]> {
  const { provider, model, fallbackProviders } = settings.current.media.transcription;
  const names = [...new Set([provider, ...fallbackProviders])];
  const available = await Promise.all(names.map((name) => media.isAvailable(name, 'transcription')));
  const found = names.filter((_, at) => available[at] === true);
  const candidates = found.map((name) => ({
    provider: name,
    modelId: (name === provider ? model : undefined) ?? TRANSCRIPTION_MODELS[name],
  }));
  return candidates.length > 0 ? candidates : [DEV_TRANSCRIPTION];
}

/** The requested provider of speech, or the configured one. */
export async function findSpeaker({ media, settings }: ProviderDeps, requested?: string): Promise<Candidate> {
  const { provider: configured, model } = settings.current.tts;
  const provider = requested ?? configured;
  if (requested === 'dev') return DEV_SPEECH;
  const isKnown = provider === 'openai' || provider === 'elevenlabs';
  if (isKnown && (requested !== undefined || (await media.isAvailable(provider, 'speech')))) {
    return { provider, modelId: (provider === configured ? model : undefined) ?? SPEECH_MODELS[provider] };
  }
  // `edge` is a provider of the configuration that this product does not have. Its requests fail with its name.
  return requested === undefined ? DEV_SPEECH : { provider, modelId: model ?? 'default' };
}

export async function findPainter({ media, settings }: ProviderDeps): Promise<Candidate> {
  const { provider, model } = settings.current.imageGen;
  return (await media.isAvailable(provider, 'image')) ? { provider, modelId: model ?? IMAGE_MODELS[provider] } : DEV_IMAGE;
}

import type { ModelRef } from '../model/model.ts';

/** What a provider does for media. Images and videos are described by chat models, so they are not listed here. */
export type MediaKind = 'transcription' | 'speech' | 'image';

/** Fields of every media call. */
export interface MediaCall {
  model: ModelRef;
  signal: AbortSignal;
  /** Time for the whole call, including the response body. */
  timeoutMs: number;
}

/** The usage of an answer whose price is known. Providers that bill time, characters or pixels report no tokens. */
export interface MediaUsage {
  input: number;
  output: number;
  costUsd: number;
}

interface MediaAnswer {
  usage?: MediaUsage;
}

export interface TranscriptionRequest extends MediaCall {
  audio: Uint8Array<ArrayBuffer>;
  /** The type that was detected from the bytes, such as `audio/ogg`. */
  mimeType: string;
  /** Language tag. The provider detects the language by default. */
  language?: string;
}

export interface TranscriptionAnswer extends MediaAnswer {
  text: string;
  language?: string;
  durationMs?: number;
}

/** Formats of synthesized speech. */
export const SPEECH_FORMATS = ['opus', 'mp3', 'aac', 'flac', 'wav', 'pcm'] as const;
export type SpeechFormat = (typeof SPEECH_FORMATS)[number];

export interface SpeechRequest extends MediaCall {
  text: string;
  voice: string;
  format: SpeechFormat;
  /** 1 is the normal speed of the voice. */
  speed?: number;
  /** Options of one provider, by its own names. */
  providerOptions?: Readonly<Record<string, string | number | boolean>>;
}

export interface SpeechAnswer extends MediaAnswer {
  audio: Uint8Array<ArrayBuffer>;
  /** The format of `audio`. It differs from the request if the provider does not have the requested format. */
  format: SpeechFormat;
}

export interface ImageRequest extends MediaCall {
  prompt: string;
  width: number;
  height: number;
  safetyChecker: boolean;
}

export interface ImageAnswer extends MediaAnswer {
  image: Uint8Array<ArrayBuffer>;
}

/** Speech and image models of this process. Every failure is a ServiceError, as those of `Models`. */
export interface MediaModels {
  /** Whether the provider has an address, and a key unless it needs none. */
  isAvailable(provider: string, kind: MediaKind): Promise<boolean>;
  transcribe(request: TranscriptionRequest): Promise<TranscriptionAnswer>;
  synthesize(request: SpeechRequest): Promise<SpeechAnswer>;
  generateImage(request: ImageRequest): Promise<ImageAnswer>;
  /** Clears the key cache after a secret was changed. */
  clearKeyCache(): void;
}

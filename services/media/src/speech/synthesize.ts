import type { Ctx } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { MediaDeps } from '../deps/media-deps.ts';
import { findSpeaker } from '../providers/configured-providers.ts';
import { askInOrder, type Candidate } from '../providers/provider-chain.ts';
import { callRecorded, readUsage } from '../providers/record-usage.ts';
import { convertSpeech, type Speech } from './convert-speech.ts';
import { detectSpeech } from './detect-speech.ts';
import { parseDirectives } from './directives.ts';
import { defaultFormat, parseFormat } from './speech-format.ts';
import { toSpokenText } from './spoken-text.ts';

const TIMEOUT_MS = 50_000;

export interface SpeechParams {
  text: string;
  voice?: string | undefined;
  format?: string | undefined;
  provider?: string | undefined;
  channel?: string | undefined;
}

export type SynthesizedSpeech = Speech & Candidate & { voice: string };

/** Speaks a text: without its directives, as words, and in the requested format. The same speech of a tenant is made once a day. */
export async function synthesize(
  deps: MediaDeps,
  params: SpeechParams,
  ctx: Pick<Ctx, 'principal' | 'signal'>,
): Promise<SynthesizedSpeech> {
  const { tts } = deps.settings.current;
  const { text: stripped, directive = {} } = parseDirectives(params.text, tts.tagPattern);
  const text = toSpokenText(stripped);
  if (text === '') throw invalid('Invalid params: text: expected words to speak, got none');
  if (text.length > tts.maxTextLength) {
    throw invalid(`Invalid params: text: expected at most ${tts.maxTextLength} characters (tts.maxTextLength), got ${text.length}`);
  }
  const requested = directive.format ?? params.format;
  const format = requested === undefined ? defaultFormat(deps.settings, params.channel) : parseFormat(requested);
  const voice = directive.voice ?? params.voice ?? tts.voice;
  const speaker = await findSpeaker(deps, directive.provider ?? params.provider);
  const { speed } = directive;
  const ask = async (model: Candidate): Promise<Speech> => {
    const request = {
      model,
      text,
      voice,
      format,
      signal: ctx.signal,
      timeoutMs: TIMEOUT_MS,
      ...(speed === undefined ? {} : { speed }),
      ...(model.provider === 'elevenlabs' ? { providerOptions: readElevenLabsOptions(tts.elevenlabsSettings) } : {}),
    };
    const call = () => deps.media.synthesize(request);
    const record = { purpose: 'speech', model, principal: ctx.principal, call, readUsage } as const;
    return detectSpeech(await callRecorded(deps.usage, record), model.provider);
  };
  const answer = await askInOrder('speech', [speaker], { signal: ctx.signal, ask });
  const converted = await convertSpeech(answer, { format, isExplicit: requested !== undefined, signal: ctx.signal });
  return { ...answer, ...converted, voice };
}

function readElevenLabsOptions(
  settings: MediaDeps['settings']['current']['tts']['elevenlabsSettings'],
): Record<string, string | number | boolean> {
  const { stability, similarityBoost, style, useSpeakerBoost, speed, seed, applyTextNormalization } = settings;
  const voiceSettings = { stability, similarityBoost, style, useSpeakerBoost, speed };
  const defined = Object.entries(voiceSettings).filter(([, value]) => value !== undefined);
  const options: Record<string, unknown> = { applyTextNormalization };
  if (seed !== undefined) options['seed'] = seed;
  if (defined.length > 0) options['voiceSettings'] = Object.fromEntries(defined);
  return options as Record<string, string | number | boolean>;
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message);
}

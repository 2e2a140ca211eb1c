import type { Handler } from '@switchyard/bus';
import type { MediaDeps } from '../deps/media-deps.ts';
import { findPainter, findSpeaker, listTranscribers } from '../providers/configured-providers.ts';
import { listDescribers } from '../vision/vision-models.ts';

/** Lists what answers each kind of call now. Development models are named as such. */
export function mediaProviders(deps: MediaDeps): Handler<'media.providers'> {
  return async () => {
    const { media, tts, imageGen } = deps.settings.current;
    const [transcribers, speaker, painter, images, videos] = await Promise.all([
      listTranscribers(deps),
      findSpeaker(deps),
      findPainter(deps),
      listDescribers(deps, 'image'),
      listDescribers(deps, 'video'),
    ]);
    const [transcriber, ...fallbacks] = transcribers;
    const [describer] = images;
    const { documentExtraction, linkUnderstanding } = media;
    return {
      providers: {
        stt: { ...describe(transcriber), fallbackProviders: fallbacks.map(({ provider }) => provider) },
        tts: { ...describe(speaker), voice: tts.voice, format: tts.format, autoMode: tts.autoMode },
        vision: {
          ...describe(describer),
          providers: images.map(({ provider }) => provider),
          defaultProvider: describer?.provider ?? null,
          videoCapable: videos.length > 0,
        },
        imageGen: { ...describe(painter), maxPerHour: imageGen.maxPerHour },
        documentExtraction: {
          configured: documentExtraction.enabled,
          enabled: documentExtraction.enabled,
          supportedMimes: documentExtraction.allowedMimes,
        },
        linkUnderstanding: {
          configured: linkUnderstanding.enabled,
          enabled: linkUnderstanding.enabled,
          maxLinks: linkUnderstanding.maxLinks,
        },
      },
    };
  };
}

function describe(model: { provider: string; modelId: string } | undefined): {
  configured: boolean;
  provider: string | null;
  model?: string;
} {
  return model === undefined ? { configured: false, provider: null } : { configured: true, provider: model.provider, model: model.modelId };
}

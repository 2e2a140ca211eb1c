import { media as contract, MEDIA_USAGE } from '@switchyard/contracts';
import { createEgress } from '@switchyard/egress';
import { createMediaModels, createModels } from '@switchyard/models';
import {
  createSecretReader,
  createUsageRecorder,
  defineService,
  followSecrets,
  systemClock,
  usageCollection,
} from '@switchyard/service-kit';
import { createAnswerCache } from './answers/answer-cache.ts';
import { answerCollection } from './answers/answer-document.ts';
import { explainNoChildren } from './processes/child-permission.ts';
import { createDocumentParser } from './processes/parser-process.ts';
import { audioTranscribe } from './handlers/audio-transcribe.ts';
import { imageAnalyze } from './handlers/image-analyze.ts';
import { imageGenerate } from './handlers/image-generate.ts';
import { linkProcess, mediaTestLink } from './handlers/link-process.ts';
import { mediaDescribeVideo } from './handlers/media-describe-video.ts';
import { mediaExtractDocument } from './handlers/media-extract-document.ts';
import { mediaPrepare } from './handlers/media-prepare.ts';
import { mediaProviders } from './handlers/media-providers.ts';
import { mediaTestDocument } from './handlers/media-test-document.ts';
import { mediaTestStt, mediaTestTts } from './handlers/media-test-speech.ts';
import { mediaTestVideo, mediaTestVision } from './handlers/media-test-vision.ts';
import { mediaUsageList } from './handlers/media-usage-list.ts';
import { mediaTranscribe } from './handlers/media-transcribe.ts';
import { ttsAutoCheck } from './handlers/tts-auto-check.ts';
import { ttsSynthesize } from './handlers/tts-synthesize.ts';
import { jobCollection } from './jobs/job-document.ts';
import { createJobMakers } from './jobs/job-makers.ts';
import { createPaidJobs } from './jobs/paid-jobs.ts';
import { createFairLimiter } from './limits/fair-limiter.ts';
import type { MediaDeps } from './deps/media-deps.ts';
import { detectIsolation } from './processes/sandbox.ts';
import { createAttachments } from './sources/attachment.ts';
import { createRemoteFiles } from './sources/remote-file.ts';

/** Turns speech, pictures, film, documents and links into text, and text into speech and pictures. */
export const media = defineService({
  contract,
  version: '0.1.0',
  settings: ['media', 'tts', 'imageGen', 'models', 'providers', 'security'],

  async setup({ settings, store, cache, blobs, bus, log, own, replica, env }) {
    const { answers, jobs, spent } = await store.open({ answers: answerCollection, jobs: jobCollection, spent: usageCollection });
    const noChildren = explainNoChildren();
    if (noChildren !== undefined) log.warn(noChildren);
    else if (detectIsolation() === 'none') log.warn('document parsers can reach the network: install bubblewrap, or allow user namespaces');
    const egress = own.use(createEgress({ settings: () => settings.current.security }));
    const remote = createRemoteFiles(
      egress,
      createFairLimiter(() => settings.current.media.infrastructure.concurrencyLimit),
    );
    const readSecret = createSecretReader(bus, contract.service);
    const secret = (name: string, origin?: string): Promise<string | null> => readSecret(name, origin, 'provider');
    const models = createModels({ settings: () => settings.current, secret, env, log });
    const mediaModels = own.use(createMediaModels({ settings: () => settings.current, secret, env }));
    own.use(
      await followSecrets(bus, () => {
        models.clearKeyCache();
        mediaModels.clearKeyCache();
      }),
    );
    const now = (): number => store.now();
    const deps: MediaDeps = {
      settings,
      bus,
      log,
      blobs,
      cache,
      remote,
      attachments: createAttachments(remote, blobs),
      parser: createDocumentParser(log),
      media: mediaModels,
      models,
      answers: createAnswerCache(answers, now),
      usage: own.use(createUsageRecorder({ event: MEDIA_USAGE, documents: spent, store, clock: systemClock, log })),
      now,
    };
    const paidJobs = own.use(createPaidJobs({ jobs, makers: createJobMakers(deps), owner: replica, now, log }));
    paidJobs.startDue();
    return {
      'audio.transcribe': audioTranscribe(deps),
      'media.transcribe': mediaTranscribe(deps),
      'media.describe_video': mediaDescribeVideo(deps),
      'media.extract_document': mediaExtractDocument(deps),
      'media.test.stt': mediaTestStt(deps),
      'media.test.tts': mediaTestTts(deps),
      'media.test.vision': mediaTestVision(deps),
      'media.test.document': mediaTestDocument(deps),
      'media.test.video': mediaTestVideo(deps),
      'media.test.link': mediaTestLink(deps),
      'media.providers': mediaProviders(deps),
      'media.prepare': mediaPrepare(deps),
      'media.usage.list': mediaUsageList(spent),
      'image.generate': imageGenerate(deps, paidJobs),
      'image.analyze': imageAnalyze(deps),
      'tts.synthesize': ttsSynthesize(paidJobs),
      'tts.auto_check': ttsAutoCheck(deps),
      'link.process': linkProcess(deps),
    };
  },
});

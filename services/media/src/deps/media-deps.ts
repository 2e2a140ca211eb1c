import type { BlobStore } from '@switchyard/blob';
import type { Bus } from '@switchyard/bus';
import type { Cache } from '@switchyard/cache';
import type { MEDIA_USAGE } from '@switchyard/contracts';
import type { MediaModels, Models } from '@switchyard/models';
import type { Settings, UsageRecorder } from '@switchyard/service-kit';
import type { AnswerCache } from '../answers/answer-cache.ts';
import type { DocumentParser } from '../processes/parser-process.ts';
import type { Attachments } from '../sources/attachment.ts';
import type { RemoteFiles } from '../sources/remote-file.ts';

export type MediaSettings = Settings<'media' | 'tts' | 'imageGen' | 'models' | 'providers' | 'security'>;

/** Dependencies of the handlers of this service. */
export interface MediaDeps {
  settings: MediaSettings;
  bus: Bus;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  blobs: () => Promise<BlobStore>;
  cache: () => Promise<Cache>;
  remote: RemoteFiles;
  attachments: Attachments;
  parser: DocumentParser;
  /** Speech and images. */
  media: MediaModels;
  /** Models that describe images and videos. */
  models: Models;
  answers: AnswerCache;
  /** Records the calls of providers for billing. */
  usage: UsageRecorder<typeof MEDIA_USAGE>;
  now: () => number;
}

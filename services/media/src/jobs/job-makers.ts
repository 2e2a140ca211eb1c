import type { MediaDeps } from '../deps/media-deps.ts';
import { generateImage } from '../images/generate-image.ts';
import { storeSpeech } from '../speech/speech-file.ts';
import { synthesize, type SpeechParams } from '../speech/synthesize.ts';
import type { JobMakers } from './paid-jobs.ts';
import { toBlobId } from './job-blob.ts';

/** Makes the results of paid jobs. A job that runs again stores its file under the same id. */
export function createJobMakers(deps: MediaDeps): JobMakers {
  return {
    async speech(params, { jobId, principal, signal }) {
      const speech = await synthesize(deps, params as unknown as SpeechParams, { principal, signal });
      const id = toBlobId(jobId);
      return { ...(await storeSpeech(await deps.blobs(), speech, { principal, settings: deps.settings, now: deps.now(), id })) };
    },
    async image(params, { jobId, principal, signal }) {
      const { prompt, size } = params as { prompt: string; size?: string };
      return { ...(await generateImage(deps, { prompt, size }, { blobId: toBlobId(jobId), principal, signal })) };
    },
  };
}

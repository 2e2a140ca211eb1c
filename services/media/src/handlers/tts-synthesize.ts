import type { Handler } from '@switchyard/bus';
import type { MediaDeps } from '../deps/media-deps.ts';
import { storeSpeech } from '../speech/speech-file.ts';
import { synthesize } from '../speech/synthesize.ts';

export function ttsSynthesize(deps: MediaDeps): Handler<'tts.synthesize'> {
  return async ({ text, voice, format }, ctx) => {
    const speech = await synthesize(deps, { text, voice, format, channel: findChannel(ctx.principal.session) }, ctx);
    return storeSpeech(await deps.blobs(), speech, { principal: ctx.principal, settings: deps.settings, now: deps.now() });
  };
}

/** The channel of a session key: `[agent:<id>:]<tenant>:<user>:<channel>…`. */
function findChannel(sessionKey: string | undefined): string | undefined {
  const parts = sessionKey?.replace(/^agent:[^:]+:/, '').split(':');
  return parts?.[2];
}

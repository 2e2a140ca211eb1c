import type { Handler } from '@switchyard/bus';
import type { MediaDeps } from '../deps/media-deps.ts';
import { parseDirectives } from '../speech/directives.ts';

/** Decides by the mode of the settings. A reply with a file is never spoken. */
export function ttsAutoCheck({ settings }: MediaDeps): Handler<'tts.auto_check'> {
  return ({ response_text: reply, has_inbound_audio: hasInboundAudio, has_media_url: hasMediaUrl }) => {
    const { autoMode: mode, tagPattern } = settings.current.tts;
    const { text: strippedText, directive } = parseDirectives(reply, tagPattern);
    const isWanted =
      mode === 'always' ||
      (mode === 'tagged' && directive !== undefined) ||
      ((mode === 'inbound' || mode === 'voice_reply') && hasInboundAudio);
    return { shouldSynthesize: isWanted && !hasMediaUrl && strippedText.trim() !== '', strippedText, mode };
  };
}

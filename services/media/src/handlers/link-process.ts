import type { Handler } from '@switchyard/bus';
import { enrichText } from '../links/enrich-text.ts';
import type { MediaDeps } from '../deps/media-deps.ts';

export function linkProcess(deps: MediaDeps): Handler<'link.process'> {
  return ({ text }, ctx) => enrichText(deps, text, ctx);
}

export function mediaTestLink(deps: MediaDeps): Handler<'media.test.link'> {
  return ({ url }, ctx) => enrichText(deps, url, ctx);
}

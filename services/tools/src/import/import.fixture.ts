import { sections } from '@switchyard/contracts';
import { createEgress } from '@switchyard/egress';
import { createDownloads, type Downloads } from './downloads.ts';

/** The time of the tests, in milliseconds. */
export const NOW = 1_700_000_000_000;

/** Opens downloads that reach doubles of hosts, which serve `http:`, by their `https:` addresses. */
export function openTestDownloads(): Downloads & AsyncDisposable {
  const security = sections.security.parse(undefined);
  const egress = createEgress({ settings: () => security });
  const insecure = {
    ...egress,
    fetch: (url: string | URL, request: object) => egress.fetch(String(url).replace(/^https:/, 'http:'), request),
  };
  return { ...createDownloads(insecure, () => NOW), [Symbol.asyncDispose]: () => egress[Symbol.asyncDispose]() };
}

import { createEgress, type Egress, type EgressOptions } from '@switchyard/egress';

/** Bytes of a response: speech of some minutes, or an image. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

export type ProviderFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Sends requests of the provider libraries. */
export interface ProviderTransport extends AsyncDisposable {
  /**
   * Creates the fetch of one call. Requests to the published address go to `baseUrl`. All other addresses, such as those of finished
   * images, come from responses and must therefore be public.
   */
  createFetch(options: { publishedUrl: string; baseUrl: string; timeoutMs: number }): ProviderFetch;
}

/** The libraries are loaded on the first request, because the development models do not need them. */
export function createProviderTransport(settings: EgressOptions['settings']): ProviderTransport {
  const configured = createEgress({ settings, reach: 'configured' });
  const open = createEgress({ settings });

  async function send(egress: Egress, request: Request, { url, timeoutMs }: { url: string; timeoutMs: number }): Promise<Response> {
    const bytes = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    return egress.fetch(url, {
      method: request.method,
      headers: Object.fromEntries(request.headers),
      signal: request.signal,
      timeoutMs,
      maxBytes: MAX_RESPONSE_BYTES,
      maxRedirects: egress === configured ? 0 : 3,
      ...(bytes === undefined ? {} : { body: bytes }),
    });
  }

  return {
    createFetch({ publishedUrl, baseUrl, timeoutMs }) {
      const published = publishedUrl.replace(/\/+$/, '');
      const base = baseUrl.replace(/\/+$/, '');
      return (input, init) => {
        const request = new Request(input, init);
        const isProvider = request.url === published || request.url.startsWith(`${published}/`) || request.url.startsWith(`${published}?`);
        const url = isProvider ? `${base}${request.url.slice(published.length)}` : request.url;
        return send(isProvider ? configured : open, request, { url, timeoutMs });
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([configured[Symbol.asyncDispose](), open[Symbol.asyncDispose]()]);
    },
  };
}

/** Headers that describe the request and carry no credential. All others stay with the origin that the caller named. */
const PORTABLE_HEADERS: ReadonlySet<string> = new Set(['accept', 'accept-language', 'content-type', 'range', 'user-agent']);
const BODY_HEADERS = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location'];

export interface HeaderSources {
  /** The headers of the caller, sent to the origin of the first URL. */
  headers: Headers;
  /** Headers with credentials, by the only origin that receives them. */
  credentials: Readonly<Record<string, Readonly<Record<string, string>>>>;
  firstOrigin: string;
  hasBody: boolean;
}

/** Builds the headers of one hop. */
export function buildHopHeaders(url: URL, { headers, credentials, firstOrigin, hasBody }: HeaderSources): Headers {
  const isFirstOrigin = url.origin === firstOrigin;
  const sent = new Headers([...headers].filter(([name]) => isFirstOrigin || PORTABLE_HEADERS.has(name)));
  if (!hasBody) for (const name of BODY_HEADERS) sent.delete(name);
  const own = Object.hasOwn(credentials, url.origin) ? credentials[url.origin] : undefined;
  for (const [name, value] of Object.entries(own ?? {})) sent.set(name, value);
  return sent;
}

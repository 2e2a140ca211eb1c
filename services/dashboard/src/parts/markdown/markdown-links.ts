/** A link of a text from outside. */
export interface OutsideLink {
  href: string;
  /** The host of the link, or the address of a `mailto:` link. */
  host: string;
}

/** Returns a link with its host; undefined for other schemes, such as scripts, and for addresses without a host. */
export function readLink(address: string): OutsideLink | undefined {
  const url = URL.parse(address.trim());
  if (url?.protocol === 'mailto:') return { href: url.href, host: url.pathname };
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined;
  return { href: url.href, host: url.host };
}

/** Returns the path of a picture that this gateway serves under `/media`; undefined for every other address. */
export function readMediaPath(address: string, origin: string): string | undefined {
  const url = URL.parse(address.trim(), origin);
  return url?.origin === origin && /^\/media\/[\w.-]+$/.test(url.pathname) ? url.pathname : undefined;
}

import type { Dispatcher, interceptors } from 'undici';
import { ProtocolError } from '../errors/protocol-error.ts';

/** Maximum bytes of a decoded response, so that a small response cannot exhaust the memory. */
const MAX_DECODED_BYTES = 64 * 1024 * 1024;

/** Decodes gzip, deflate, br and zstd in answers and refusals. Some providers and proxies encode responses without being asked. */
export function decodeResponses({ decompress }: Pick<typeof interceptors, 'decompress'>): Dispatcher.DispatcherComposeInterceptor {
  return decompress({ skipErrorResponses: false, maxSize: MAX_DECODED_BYTES });
}

/** Converts an error of zlib. Returns undefined for other errors, and for an encoded response that was cut. */
export function convertDecodingError(error: Error): ProtocolError | undefined {
  const { code } = error as { code?: unknown };
  const isInvalid = typeof code === 'string' && code !== 'Z_BUF_ERROR' && /^(Z_|ERR__|ZSTD_)/.test(code);
  return isInvalid ? new ProtocolError('sent a body that does not have its content encoding') : undefined;
}

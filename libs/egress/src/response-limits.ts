import { limitError } from './errors.ts';

/** Throws unless the content type of a response is one of `types`: complete types, or prefixes that end in `/`. */
export function checkContentType(type: string | null, types: readonly string[] | undefined, host: string): void {
  if (types === undefined) return;
  const essence = (type ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (types.some((allowed) => (allowed.endsWith('/') ? essence.startsWith(allowed) : essence === allowed))) return;
  const sent = essence === '' ? 'no content type' : `the content type ${essence.slice(0, 100)}`;
  throw limitError('CONTENT_TYPE_NOT_ALLOWED', `${host} responded with ${sent}; expected ${types.join(', ')}`);
}

/** Throws if the announced length exceeds the limit. The length is missing or compressed in many responses, so the body is counted too. */
export function checkContentLength(length: string | null, maxBytes: number, host: string): void {
  if (length !== null && Number(length) > maxBytes) throw tooLarge(host, maxBytes);
}

/** Counts the decoded bytes of a body. The reader fails and the connection closes above the limit. */
export function limitBody(body: ReadableStream<Uint8Array>, maxBytes: number, host: string): ReadableStream<Uint8Array> {
  let bytes = 0;
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) throw tooLarge(host, maxBytes);
        controller.enqueue(chunk);
      },
    }),
  );
}

function tooLarge(host: string, maxBytes: number): Error {
  return limitError('RESPONSE_TOO_LARGE', `${host} sent more than ${maxBytes} bytes`);
}

/**
 * JSON to be sent to a client. Short JSON is a Latin-1 string with one character per UTF-8 byte, which Node writes in one piece with the
 * headers. Long JSON is a buffer. `length` is the number of bytes in both.
 */
export type Payload = string | Buffer;

/** Node passes a shorter string to the kernel in one piece. */
export const MIN_BUFFER_BYTES = 16_384;

/** Encodes JSON as a payload. */
export function encodePayload(json: string): Payload {
  return toLatin1(json);
}

export function toPayloadBytes(answer: Payload): Buffer {
  return typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer;
}

/** The UTF-8 bytes of a text as a Latin-1 string. ASCII text is returned unchanged. */
export function toLatin1(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}

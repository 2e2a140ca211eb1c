/**
 * What is sent to a client. A short one is a text with a character for each byte (Latin-1), so that HTTP writes it together with its
 * headers and nothing is encoded twice; a long one is the bytes. `length` is the number of bytes in both.
 */
export type Answer = string | Buffer;

/** Node hands a text of less than this to the kernel in one piece. */
export const LONG_BYTES = 16_384;

/** JSON that was made here, as it is sent. */
export function textAnswer(json: string): Answer {
  return bytesAsText(json);
}

export function answerBytes(answer: Answer): Buffer {
  return typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer;
}

/** The UTF-8 of a text, a character for each of its bytes: the text itself where it is ASCII. */
export function bytesAsText(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}

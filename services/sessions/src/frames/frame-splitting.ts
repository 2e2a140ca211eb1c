import { INLINE_BYTES, type TurnFrame } from '@switchyard/contracts';

/** Maximum characters of text per message. A character takes at most six bytes as JSON, so a message with this much text always fits. */
const MAX_CHARS = 10_000;
/** Bytes reserved for the rest of a frame. */
const FRAME_OVERHEAD_BYTES = 1_024;
const LOW_SURROGATE = /^[\uDC00-\uDFFF]/;

/** Splits a text into parts that fit a message, without splitting surrogate pairs. */
export function splitText(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = at + MAX_CHARS;
    if (LOW_SURROGATE.test(text.slice(end, end + 1))) end -= 1;
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

/** Returns the text, or its beginning if it is too long for an event. */
export function truncateText(text: string): string {
  return text.length <= MAX_CHARS ? text : `${splitText(text)[0]}…`;
}

/** Splits a frame that is too large: text into parts, an end into one without the result, which `turns.resume` returns. */
export function splitFrame(body: FrameBody): FrameBody[] {
  if (body.type === 'delta' && body.text.length > MAX_CHARS) return splitText(body.text).map((text) => ({ type: 'delta', text }));
  if (body.type === 'resumed' && body.text.length > MAX_CHARS) {
    const [text = '', ...rest] = splitText(body.text);
    return [{ type: 'resumed', text }, ...rest.map((part): FrameBody => ({ type: 'delta', text: part }))];
  }
  if (body.type === 'done' && isTooLong(body.result)) {
    const { tokensUsed, finishReason } = body.result;
    return [{ type: 'done', whole: false, result: { response: '', tokensUsed, finishReason } }];
  }
  if (body.type === 'error' && isTooLong(body.error)) {
    const { code, message } = body.error;
    return [{ type: 'error', error: { code, message: truncateText(message) } }];
  }
  return [body];
}

function isTooLong(value: object): boolean {
  return Buffer.byteLength(JSON.stringify(value)) > INLINE_BYTES - FRAME_OVERHEAD_BYTES;
}

type WithoutNumber<F> = F extends { n: number } ? Omit<F, 'n'> : never;

/** A frame without its number. */
export type FrameBody = WithoutNumber<TurnFrame>;

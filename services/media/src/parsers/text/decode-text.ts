const BYTE_ORDER_MARKS: readonly [bytes: readonly number[], charset: string][] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];
/** Bytes in which a document declares its charset. */
const DECLARATION_BYTES = 65_536;
const DECLARATIONS: readonly RegExp[] = [
  /<\?xml[^>]{0,200}\bencoding\s*=\s*["']([\w.:-]{1,40})["']/i,
  /<meta[^>]{0,500}\bcharset\s*=\s*["']?\s*([\w.:-]{1,40})/i,
];
/** A declaration that can be read byte by byte is wrong if it names one of these. */
const TWO_BYTE_CHARSET = /^(?:utf-?16|unicode|csunicode|ucs-2|iso-10646-ucs-2)/i;
const FALLBACK = 'windows-1252';

/** Decodes a whole text: by its byte order mark, the given charset, its own declaration, as UTF-8 if it is valid, else by its bytes. */
export function decodeText(bytes: Uint8Array, charset?: string): string {
  const mark = BYTE_ORDER_MARKS.find(([marks]) => marks.every((byte, at) => bytes[at] === byte))?.[1];
  for (const name of [mark, charset, findDeclared(bytes)]) {
    const text = name === undefined ? undefined : decode(bytes, name);
    if (text !== undefined) return text;
  }
  return decode(bytes, 'utf-8', true) ?? decode(bytes, guessCharset(bytes)) ?? new TextDecoder(FALLBACK).decode(bytes);
}

function findDeclared(bytes: Uint8Array): string | undefined {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, DECLARATION_BYTES));
  return DECLARATIONS.map((pattern) => pattern.exec(head)?.[1]).find((name) => name !== undefined && !TWO_BYTE_CHARSET.test(name));
}

/** Returns undefined for an unknown charset, and for one that the bytes contradict. */
function decode(bytes: Uint8Array, charset: string, strict = /^utf-?8$/i.test(charset)): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: strict }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** UTF-16 without a mark has zero bytes at every other place. East Asian charsets are recognized by their valid double bytes. */
function guessCharset(bytes: Uint8Array): string {
  const sample = bytes.subarray(0, 65_536);
  const zeros = [0, 0];
  for (const [at, byte] of sample.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const half = sample.length / 2;
  if ((zeros[1] ?? 0) > half * 0.3) return 'utf-16le';
  if ((zeros[0] ?? 0) > half * 0.3) return 'utf-16be';
  for (const charset of ['shift_jis', 'gb18030', 'euc-kr', 'big5']) {
    const text = decode(sample.subarray(0, sample.length - (sample.length % 2)), charset, true);
    if (text !== undefined && countEastAsian(text) > text.length * 0.2) return charset;
  }
  return FALLBACK;
}

function countEastAsian(text: string): number {
  return text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu)?.length ?? 0;
}

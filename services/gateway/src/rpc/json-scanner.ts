/**
 * Finds the bounds of JSON values in bytes and validates them without creating objects, because the gateway forwards values unparsed.
 * Accepts exactly what `JSON.parse` accepts, except that UTF-8 is checked by the caller with the help of `ascii`. Never throws and never
 * recurses.
 */
export interface Scan {
  /** The deepest nesting seen, to be reset by the caller. */
  deepest: number;
  /** Whether all bytes so far are ASCII. If not, the bytes may be invalid UTF-8. */
  ascii: boolean;
}

/** The index returned for invalid JSON. */
export const BROKEN = -1;

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
const LETTER_E = 0x65;
const LETTER_U = 0x75;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

const SPACE = 0x20;
const TO_LOWER = 0x20;
const FIRST_NON_ASCII = 0x80;

const ESCAPED: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrtu'));
const SPACES: ReadonlySet<number> = new Set(Buffer.from(' \t\n\r'));
const LITERALS = ['true', 'false', 'null'].map((word) => Buffer.from(word));

export function skipSpace(bytes: Uint8Array, at: number): number {
  let i = at;
  while ((bytes[i] ?? FIRST_NON_ASCII) <= SPACE && SPACES.has(bytes[i] as number)) i++;
  return i;
}

/** Returns the index after the value at `at`. A container there has nesting `depth`. */
export function findValueEnd(bytes: Uint8Array, at: number, depth: number, scan: Scan): number {
  const first = bytes[at];
  return first === OPEN_BRACE || first === OPEN_BRACKET ? findContainerEnd(bytes, at, depth, scan) : findScalarEnd(bytes, at, scan);
}

/** Returns the index of the value of a member whose name ends before `nameEnd`. */
export function findMemberValue(bytes: Uint8Array, nameEnd: number): number {
  if (nameEnd === BROKEN) return BROKEN;
  const colon = skipSpace(bytes, nameEnd);
  return bytes[colon] === COLON ? skipSpace(bytes, colon + 1) : BROKEN;
}

/** Returns the index after the string at `at`. */
export function findStringEnd(bytes: Uint8Array, at: number, scan: Scan): number {
  if (bytes[at] !== QUOTE) return BROKEN;
  let i = at + 1;
  while (i !== BROKEN && i < bytes.length) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) return i + 1;
    if (byte < SPACE) return BROKEN;
    if (byte >= FIRST_NON_ASCII) scan.ascii = false;
    i = byte === BACKSLASH ? findEscapeEnd(bytes, i + 1) : i + 1;
  }
  return BROKEN;
}

/** Returns the index after the escape whose backslash is before `at`. */
function findEscapeEnd(bytes: Uint8Array, at: number): number {
  const kind = bytes[at];
  if (kind === undefined || !ESCAPED.has(kind)) return BROKEN;
  if (kind !== LETTER_U) return at + 1;
  for (let i = at + 1; i <= at + 4; i++) if (!isHex(bytes[i])) return BROKEN;
  return at + 5;
}

function findContainerEnd(bytes: Uint8Array, at: number, depth: number, scan: Scan): number {
  const closers: number[] = [];
  let i = at;
  for (;;) {
    // A value begins.
    const first = bytes[i];
    if (first === OPEN_BRACE || first === OPEN_BRACKET) {
      const closer = first === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
      const level = depth + closers.push(closer) - 1;
      if (level > scan.deepest) scan.deepest = level;
      i = skipSpace(bytes, i + 1);
      if (bytes[i] !== closer) {
        if (closer === CLOSE_BRACE) i = findMemberValue(bytes, findStringEnd(bytes, i, scan));
        if (i === BROKEN) return BROKEN;
        continue;
      }
    } else {
      i = findScalarEnd(bytes, i, scan);
      if (i === BROKEN) return BROKEN;
      i = skipSpace(bytes, i);
    }
    // A value or its container ended.
    while (bytes[i] === closers.at(-1)) {
      closers.pop();
      if (closers.length === 0) return i + 1;
      i = skipSpace(bytes, i + 1);
    }
    if (bytes[i] !== COMMA) return BROKEN;
    i = skipSpace(bytes, i + 1);
    if (closers.at(-1) === CLOSE_BRACE) i = findMemberValue(bytes, findStringEnd(bytes, i, scan));
    if (i === BROKEN) return BROKEN;
  }
}

function findScalarEnd(bytes: Uint8Array, at: number, scan: Scan): number {
  const first = bytes[at];
  if (first === undefined) return BROKEN;
  if (first === QUOTE) return findStringEnd(bytes, at, scan);
  return first === MINUS || isDigit(first) ? findNumberEnd(bytes, at) : findLiteralEnd(bytes, at);
}

function findLiteralEnd(bytes: Uint8Array, at: number): number {
  const literal = LITERALS.find((word) => word.every((byte, index) => bytes[at + index] === byte));
  return literal === undefined ? BROKEN : at + literal.length;
}

function findNumberEnd(bytes: Uint8Array, at: number): number {
  const whole = bytes[at] === MINUS ? at + 1 : at;
  let i = bytes[whole] === ZERO ? whole + 1 : findDigitsEnd(bytes, whole);
  if (i !== BROKEN && bytes[i] === DOT) i = findDigitsEnd(bytes, i + 1);
  if (i !== BROKEN && ((bytes[i] ?? 0) | TO_LOWER) === LETTER_E) {
    const sign = bytes[i + 1];
    i = findDigitsEnd(bytes, sign === MINUS || sign === PLUS ? i + 2 : i + 1);
  }
  return i;
}

/** Returns the index after one or more digits. */
function findDigitsEnd(bytes: Uint8Array, at: number): number {
  let i = at;
  while (isDigit(bytes[i])) i++;
  return i === at ? BROKEN : i;
}

function isDigit(byte = 0): boolean {
  return byte >= ZERO && byte <= NINE;
}

function isHex(byte = 0): boolean {
  const lower = byte | TO_LOWER;
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66);
}
